# What Apollo's functions are documented to do, as far as the scripts call them: enough to run a
# script without Apollo. `apollo_estimate` does not estimate: it evaluates the likelihood at zero
# and at the estimates that the script expects.

library <- function(...) invisible(NULL)
apollo_initialise <- function() invisible(NULL)
apollo_modelOutput <- function(model) invisible(NULL)

apollo_validateInputs <- function() {
  database <- get("database", globalenv())
  control <- get("apollo_control", globalenv())
  beta <- get("apollo_beta", globalenv())
  stopifnot(
    is.data.frame(database), !anyNA(database), control$indivID %in% names(database),
    !anyDuplicated(names(beta)), !any(names(beta) %in% names(database)), all(beta == 0),
    !is.unsorted(database[[control$indivID]]),
    control$panelData == any(duplicated(database[[control$indivID]]))
  )
  if (!is.null(control$weights)) stopifnot(control$weights %in% names(database))
  list(database = database, apollo_control = control)
}

apollo_attach <- function(apollo_beta, apollo_inputs) {
  attach(as.list(apollo_beta), name = "beta", warn.conflicts = FALSE)
  attach(apollo_inputs$database, name = "database", warn.conflicts = FALSE)
}
apollo_detach <- function(apollo_beta, apollo_inputs) {
  detach("beta", character.only = TRUE)
  detach("database", character.only = TRUE)
}

# The probability of the chosen alternative among those available.
apollo_mnl <- function(mnl_settings, functionality) {
  s <- mnl_settings
  stopifnot(setequal(names(s$alternatives), names(s$avail)),
            setequal(names(s$alternatives), names(s$utilities)))
  n <- length(s$choiceVar)
  over <- function(values) sapply(names(s$alternatives), function(a) rep_len(values[[a]], n))
  available <- over(s$avail) == 1
  v <- over(s$utilities)
  v[!available] <- -Inf
  stopifnot(is.finite(v[available]))
  p <- exp(v - apply(v, 1, max))
  p <- p / rowSums(p)
  p[cbind(seq_len(n), match(s$choiceVar, s$alternatives))]
}

apollo_weighting <- function(P, apollo_inputs, functionality) {
  weight <- apollo_inputs$database[[apollo_inputs$apollo_control$weights]]
  lapply(P, function(p) p^weight)
}
apollo_panelProd <- function(P, apollo_inputs, functionality) {
  stopifnot(apollo_inputs$apollo_control$panelData)
  person <- apollo_inputs$database[[apollo_inputs$apollo_control$indivID]]
  lapply(P, function(p) tapply(p, person, prod))
}
apollo_prepareProb <- function(P, apollo_inputs, functionality) P[["model"]]

apollo_estimate <- function(apollo_beta, apollo_fixed, apollo_probabilities, apollo_inputs) {
  expected <- get("EXPECTED", globalenv())
  stopifnot(identical(names(expected), names(apollo_beta)))
  at <- function(beta) sum(log(apollo_probabilities(beta, apollo_inputs)))
  cat(sprintf("LOGLIK %.12f %.12f\n", at(apollo_beta), at(expected)))
  list(maximum = at(expected), estimate = expected)
}
