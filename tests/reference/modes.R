# A multinomial logit for Apollo (R), written by ardchoice VERSION.
#
# Run it:
#   Rscript -e 'install.packages("apollo")'
#   Rscript modes.R
# Run it in the folder that it is in. Scripts of this kind were checked in R with stand-ins
# for Apollo's functions that do what its manual says, not with Apollo itself.
#
# The choices did not come from a file,
# so they stand beside this script, in modes_choices.csv.
#
# To expect: log-likelihood -199.1284 (-291.1218 with equal shares),
# 210 choices, 6 coefficients; standard errors in brackets, robust:
#
#   ASC_AIR              5.20744    (0.9788)  air: ASC
#   ASC_AIR_HINC        0.013287  (0.009273)  air: ASC x hinc
#   ASC_TRAIN            3.86904    (0.5175)  train: ASC
#   ASC_BUS              3.16319    (0.5463)  bus: ASC
#   B_GC              -0.0155015  (0.004948)  *: gc
#   B_TTME            -0.0961248   (0.01506)  *: ttme

library(apollo)
apollo_initialise()

DATA <- "modes_choices.csv"
EXPECTED <- c(
  ASC_AIR = 5.207443298666676,
  ASC_AIR_HINC = 0.01328702625060323,
  ASC_TRAIN = 3.8690427015321736,
  ASC_BUS = 3.1631942118672187,
  B_GC = -0.015501525316108853,
  B_TTME = -0.09612479610477755
)
MISSING <- c("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", ".")

# ---- From the table to a column for everything that the utilities use ----

read_choices <- function(path) {
  # Every cell as text; what is a number is decided later, column by column.
  cells <- read.table(
    path, header = FALSE, sep = ",", quote = "\"", comment.char = "",
    colClasses = "character", na.strings = character(0), fill = TRUE, encoding = "UTF-8"
  )
  cells[] <- lapply(cells, function(text) sub("^ +", "", enc2utf8(text)))
  header <- unlist(cells[1, ], use.names = FALSE)
  table <- cells[-1, , drop = FALSE]
  table[] <- lapply(table, function(text) ifelse(text %in% MISSING, NA, text))
  names(table) <- header
  return(table)
}

numbers <- function(text) {
  text[text %in% c("True", "TRUE", "true")] <- "1"
  text[text %in% c("False", "FALSE", "false")] <- "0"
  suppressWarnings(as.numeric(text))
}

# Values as text; in a column of numbers 1 and 1.0 are both "1".
labels_of <- function(text) {
  value <- numbers(text)
  if (anyNA(value[!is.na(text)])) return(text)
  ifelse(value %% 1 == 0, sprintf("%.0f", value), sprintf("%.15g", value))
}

one_of <- function(text, wanted) as.numeric(enc2utf8(text) %in% enc2utf8(wanted))

between <- function(v, low, high) !is.na(v) & v >= low & v < high

yes <- function(text) {
  one_of(tolower(trimws(labels_of(text))), c("1", "true", "yes", "y", "t")) == 1
}

prepare <- function(path = DATA) {
  table <- read_choices(path)
  n <- nrow(table)
  cell <- function(column, j = NULL) table[[column]]
  always <- rep(TRUE, n)
  available <- list(
    always,
    always,
    always,
    always
  )
  choice <- match(labels_of(cell("CHOICE")), c("1", "2", "3", "4"))
  if (n != 210) {
    message("Beware: ", n, " choices instead of 210. Has the file changed?")
  }
  x <- data.frame(
    PERSON = seq_len(n),  # there are no person ids: every choice is a person's only one
    CHOICE = choice
  )
  x$AV_AIR <- as.numeric(available[[1]])
  x$AV_TRAIN <- as.numeric(available[[2]])
  x$AV_BUS <- as.numeric(available[[3]])
  x$AV_CAR <- as.numeric(available[[4]])
  # Zero where the alternative is not available: anything may stand there.
  put <- function(names, values, here = TRUE) {
    for (i in seq_along(names)) {
      column <- as.numeric(values[[i]])
      column[!here] <- 0
      x[[names[i]]] <<- column
    }
  }
  suppressWarnings({
    # hinc
    v <- numbers(cell("HINC"))
    put(c("HINC"), list(v))
    # gc
    v <- numbers(cell("GC_AIR", 1))
    put(c("GC_AIR"), list(v), available[[1]])
    v <- numbers(cell("GC_TRAIN", 2))
    put(c("GC_TRAIN"), list(v), available[[2]])
    v <- numbers(cell("GC_BUS", 3))
    put(c("GC_BUS"), list(v), available[[3]])
    v <- numbers(cell("GC_CAR", 4))
    put(c("GC_CAR"), list(v), available[[4]])
    # ttme
    v <- numbers(cell("TTME_AIR", 1))
    put(c("TTME_AIR"), list(v), available[[1]])
    v <- numbers(cell("TTME_TRAIN", 2))
    put(c("TTME_TRAIN"), list(v), available[[2]])
    v <- numbers(cell("TTME_BUS", 3))
    put(c("TTME_BUS"), list(v), available[[3]])
    v <- numbers(cell("TTME_CAR", 4))
    put(c("TTME_CAR"), list(v), available[[4]])
  })
  x[order(x$PERSON), ]  # the choices of a person follow one another
}

# ---- The model ----

database <- prepare()

apollo_control <- list(
  modelName = "modes",
  modelDescr = "Multinomial logit written by ardchoice",
  indivID = "PERSON",
  panelData = FALSE
)

apollo_beta <- c(
  ASC_AIR = 0,
  ASC_AIR_HINC = 0,
  ASC_TRAIN = 0,
  ASC_BUS = 0,
  B_GC = 0,
  B_TTME = 0
)
apollo_fixed <- c()

apollo_probabilities <- function(apollo_beta, apollo_inputs, functionality = "estimate") {
  apollo_attach(apollo_beta, apollo_inputs)
  on.exit(apollo_detach(apollo_beta, apollo_inputs))
  P <- list()

  V <- list()
  # air
  V[["AIR"]] <- ASC_AIR +
      ASC_AIR_HINC * HINC +
      B_GC * GC_AIR +
      B_TTME * TTME_AIR
  # train
  V[["TRAIN"]] <- ASC_TRAIN +
      B_GC * GC_TRAIN +
      B_TTME * TTME_TRAIN
  # bus
  V[["BUS"]] <- ASC_BUS +
      B_GC * GC_BUS +
      B_TTME * TTME_BUS
  # car
  V[["CAR"]] <- B_GC * GC_CAR +
      B_TTME * TTME_CAR

  mnl_settings <- list(
    alternatives = c(AIR = 1, TRAIN = 2, BUS = 3, CAR = 4),
    avail = list(
      AIR = AV_AIR,
      TRAIN = AV_TRAIN,
      BUS = AV_BUS,
      CAR = AV_CAR
    ),
    choiceVar = CHOICE,
    utilities = V
  )
  P[["model"]] <- apollo_mnl(mnl_settings, functionality)
  P <- apollo_prepareProb(P, apollo_inputs, functionality)
  return(P)
}

# ---- Estimation ----

apollo_inputs <- apollo_validateInputs()
model <- apollo_estimate(apollo_beta, apollo_fixed, apollo_probabilities, apollo_inputs)
apollo_modelOutput(model)

# Beside what ardchoice found.
cat("\nlog-likelihood", format(model$maximum, digits = 10), -199.12836871598162, "\n")
print(cbind(estimate = model$estimate[names(EXPECTED)], ardchoice = EXPECTED), digits = 9)
