# What Apollo's functions are documented to do, as far as the scripts call them: enough to run a
# script without Apollo. `apollo_estimate` does not estimate: it evaluates the likelihood where the
# script starts (zero, scales of nests at 1, latent classes apart) and at the estimates that it
# expects.

library <- function(...) invisible(NULL)
apollo_initialise <- function() invisible(NULL)
apollo_modelOutput <- function(model) invisible(NULL)

apollo_validateInputs <- function() {
  database <- get("database", globalenv())
  control <- get("apollo_control", globalenv())
  beta <- get("apollo_beta", globalenv())
  stopifnot(
    is.data.frame(database), !anyNA(database), control$indivID %in% names(database),
    !anyDuplicated(names(beta)), !any(names(beta) %in% names(database)),
    exists("apollo_lcPars", globalenv()) || isTRUE(control$mixing) || all(beta == grepl("^MU(_|$)", names(beta))),
    !is.unsorted(database[[control$indivID]]),
    control$panelData == any(duplicated(database[[control$indivID]]))
  )
  if (!is.null(control$weights)) stopifnot(control$weights %in% names(database))
  list(database = database, apollo_control = control, draws = draws_of(control, database))
}

# Modified Latin hypercube sampling, one row of draws per person; fewer draws than a user's.
draws_of <- function(control, database) {
  if (!isTRUE(control$mixing)) return(list())
  asked <- get("apollo_draws", globalenv())
  stopifnot(asked$interDrawsType %in% c("mlhs", "halton", "sobol"), asked$interNDraws >= 100,
            asked$intraNDraws == 0, is.function(get("apollo_randCoeff", globalenv())))
  person <- database[[control$indivID]]
  set.seed(7)
  names <- c(asked$interUnifDraws, asked$interNormDraws)
  stopifnot(!anyDuplicated(names), !any(names %in% names(database)))
  out <- lapply(names, function(name) {
    n <- length(unique(person))
    u <- t(sapply(seq_len(n), function(i) sample((seq_len(STAND_IN_DRAWS) - runif(1)) / STAND_IN_DRAWS)))
    u <- u[match(person, unique(person)), , drop = FALSE]
    if (name %in% asked$interNormDraws) qnorm(u) else u
  })
  setNames(out, names)
}
STAND_IN_DRAWS <- 500

apollo_attach <- function(apollo_beta, apollo_inputs) {
  attach(as.list(apollo_beta), name = "beta", warn.conflicts = FALSE)
  attach(apollo_inputs$database, name = "database", warn.conflicts = FALSE)
  if (length(apollo_inputs$draws)) {
    attach(apollo_inputs$draws, name = "draws", warn.conflicts = FALSE)
    coefficients <- get("apollo_randCoeff", globalenv())
    environment(coefficients) <- globalenv()
    attach(coefficients(apollo_beta, apollo_inputs), name = "coefficients", warn.conflicts = FALSE)
  }
  if (!exists("apollo_lcPars", globalenv())) return(invisible(NULL))
  classes <- get("apollo_lcPars", globalenv())(apollo_beta, apollo_inputs)
  attach(classes, name = "classes", warn.conflicts = FALSE)
}
apollo_detach <- function(apollo_beta, apollo_inputs) {
  detach("beta", character.only = TRUE)
  detach("database", character.only = TRUE)
  for (one in intersect(c("classes", "draws", "coefficients"), search())) {
    detach(one, character.only = TRUE)
  }
}

# The probability of the chosen alternative among those available.
apollo_mnl <- function(mnl_settings, functionality) {
  s <- mnl_settings
  stopifnot(setequal(names(s$alternatives), names(s$avail)),
            setequal(names(s$alternatives), names(s$utilities)))
  n <- length(s$choiceVar)
  if (any(sapply(s$utilities, is.matrix))) return(mixed_mnl(s, n))
  over <- function(values) sapply(names(s$alternatives), function(a) rep_len(values[[a]], n))
  available <- over(s$avail) == 1
  v <- over(s$utilities)
  v[!available] <- -Inf
  stopifnot(is.finite(v[available]))
  p <- exp(v - apply(v, 1, max))
  p <- p / rowSums(p)
  p[cbind(seq_len(n), match(s$choiceVar, s$alternatives))]
}

# The same where utilities have a column for every draw.
mixed_mnl <- function(s, n) {
  wide <- function(one) if (is.matrix(one)) one else matrix(rep_len(one, n), n, STAND_IN_DRAWS)
  v <- lapply(names(s$alternatives), function(a) {
    one <- wide(s$utilities[[a]])
    one[rep_len(s$avail[[a]], n) != 1, ] <- -Inf
    one
  })
  most <- Reduce(pmax, v)
  e <- lapply(v, function(one) exp(one - most))
  chosen <- match(s$choiceVar, s$alternatives)
  p <- matrix(0, n, STAND_IN_DRAWS)
  for (k in seq_along(e)) p[chosen == k, ] <- e[[k]][chosen == k, , drop = FALSE]
  p / Reduce("+", e)
}

# Over draws; what the script prints of the error is of the sum of logarithms.
apollo_avgInterDraws <- function(P, apollo_inputs, functionality) {
  lapply(P, function(p) {
    stopifnot(is.matrix(p), ncol(p) == STAND_IN_DRAWS)
    relative <- apply(p, 1, var) / STAND_IN_DRAWS / rowMeans(p)^2
    cat(sprintf("ERROR %.6f\n", sqrt(sum(relative))))
    rowMeans(p)
  })
}

# By the definition of the nested logit: a node is chosen among those of its parent with
# probability proportional to exp(utility / lambda of the parent), and a nest has the utility
# lambda log sum exp(utility / lambda) over its nodes.
apollo_nl <- function(nl_settings, functionality) {
  s <- nl_settings
  nodes <- unlist(s$nlStructure, use.names = FALSE)
  stopifnot(names(s$nlStructure)[1] == "root", s$nlNests$root == 1, !anyDuplicated(nodes),
            setequal(names(s$nlStructure), names(s$nlNests)),
            setequal(c("root", nodes), c(names(s$alternatives), names(s$nlNests))),
            !any(names(s$alternatives) %in% names(s$nlNests)))
  n <- length(s$choiceVar)
  value <- function(node) {
    if (node %in% names(s$alternatives)) {
      return(ifelse(rep_len(s$avail[[node]], n) == 1, rep_len(s$utilities[[node]], n), -Inf))
    }
    lambda <- s$nlNests[[node]]
    inner <- sapply(s$nlStructure[[node]], value) / lambda
    most <- pmax(apply(inner, 1, max), -1e300)
    lambda * (most + log(rowSums(exp(inner - most))))
  }
  p <- rep(1, n)
  for (nest in names(s$nlStructure)) {
    lambda <- s$nlNests[[nest]]
    for (node in s$nlStructure[[nest]]) {
      below <- node
      while (any(below %in% names(s$nlStructure))) below <- unlist(s$nlStructure[below])
      chosen <- s$choiceVar %in% s$alternatives[below]
      share <- exp((value(node) - value(nest)) / lambda)
      p[chosen] <- p[chosen] * share[chosen]
    }
  }
  stopifnot(is.finite(p))
  p
}

# Shares of classes, by choice (or one number, where they have only constants).
apollo_classAlloc <- function(classAlloc_settings) {
  s <- classAlloc_settings
  stopifnot(identical(names(s$classes), names(s$utilities)), s$classes == seq_along(s$classes))
  odds <- lapply(s$utilities, exp)
  lapply(odds, function(one) one / Reduce("+", odds))
}

# Shares by choice are averaged over the choices of a person where likelihoods go by person.
apollo_lc <- function(lc_settings, apollo_inputs, functionality) {
  inside <- lc_settings$inClassProb
  shares <- lc_settings$classProb
  stopifnot(is.list(inside), length(inside) == length(shares),
            length(unique(sapply(inside, sum))) == length(inside),
            abs(Reduce("+", shares) - 1) < 1e-10)
  person <- apollo_inputs$database[[apollo_inputs$apollo_control$indivID]]
  fit <- function(share, p) {
    if (length(share) %in% c(1, length(p))) return(share)
    as.vector(tapply(share, person, mean))
  }
  Reduce("+", Map(function(p, share) p * fit(share, p), inside, shares))
}

# Of choices, or of persons, whose choices must then have one weight.
apollo_weighting <- function(P, apollo_inputs, functionality) {
  weight <- apollo_inputs$database[[apollo_inputs$apollo_control$weights]]
  person <- apollo_inputs$database[[apollo_inputs$apollo_control$indivID]]
  first <- !duplicated(person)
  lapply(P, function(p) {
    if (length(p) == length(weight)) return(p^weight)
    stopifnot(length(p) == sum(first), weight == weight[first][match(person, person[first])])
    p^weight[first]
  })
}
apollo_panelProd <- function(P, apollo_inputs, functionality) {
  stopifnot(apollo_inputs$apollo_control$panelData)
  person <- apollo_inputs$database[[apollo_inputs$apollo_control$indivID]]
  by_person <- function(p) {
    if (is.matrix(p)) return(exp(rowsum(log(p), person, reorder = TRUE)))
    as.vector(tapply(p, person, prod))
  }
  if (is.list(P)) lapply(P, by_person) else by_person(P)
}
apollo_prepareProb <- function(P, apollo_inputs, functionality) P[["model"]]

apollo_estimate <- function(apollo_beta, apollo_fixed, apollo_probabilities, apollo_inputs) {
  expected <- get("EXPECTED", globalenv())
  stopifnot(identical(names(expected), names(apollo_beta)))
  at <- function(beta) sum(log(apollo_probabilities(beta, apollo_inputs)))
  cat(sprintf("LOGLIK %.12f %.12f\n", at(apollo_beta), at(expected)))
  list(maximum = at(expected), estimate = expected)
}
