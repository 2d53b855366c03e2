"""Scripts as users of other packages write them, for the Swissmetro survey."""

BIOGEME_DATA = r"""
import pandas as pd
import biogeme.database as db
from biogeme.expressions import Variable

df = pd.read_csv('swissmetro.dat', sep='\t')
database = db.Database('swissmetro', df)
PURPOSE = Variable('PURPOSE')
CHOICE = Variable('CHOICE')
GA = Variable('GA')
SP = Variable('SP')
exclude = ((PURPOSE != 1) * (PURPOSE != 3) + (CHOICE == 0)) > 0
database.remove(exclude)
SM_COST = database.define_variable('SM_COST', Variable('SM_CO') * (GA == 0))
TRAIN_COST = database.define_variable('TRAIN_COST', Variable('TRAIN_CO') * (GA == 0))
CAR_AV_SP = database.define_variable('CAR_AV_SP', Variable('CAR_AV') * (SP != 0))
TRAIN_AV_SP = database.define_variable('TRAIN_AV_SP', Variable('TRAIN_AV') * (SP != 0))
TRAIN_TT_SCALED = database.define_variable('TRAIN_TT_SCALED', Variable('TRAIN_TT') / 100)
TRAIN_COST_SCALED = database.define_variable('TRAIN_COST_SCALED', TRAIN_COST / 100)
SM_TT_SCALED = database.define_variable('SM_TT_SCALED', Variable('SM_TT') / 100)
SM_COST_SCALED = database.define_variable('SM_COST_SCALED', SM_COST / 100)
CAR_TT_SCALED = database.define_variable('CAR_TT_SCALED', Variable('CAR_TT') / 100)
CAR_CO_SCALED = database.define_variable('CAR_CO_SCALED', Variable('CAR_CO') / 100)
SM_AV = Variable('SM_AV')
"""

BIOGEME = r"""
import biogeme.biogeme as bio
from biogeme import models
from biogeme.expressions import Beta
from swissmetro_data import (
    database, CHOICE, TRAIN_AV_SP, SM_AV, CAR_AV_SP, TRAIN_TT_SCALED, TRAIN_COST_SCALED,
    SM_TT_SCALED, SM_COST_SCALED, CAR_TT_SCALED, CAR_CO_SCALED)

ASC_CAR = Beta('ASC_CAR', 0, None, None, 0)
ASC_TRAIN = Beta('ASC_TRAIN', 0, None, None, 0)
ASC_SM = Beta('ASC_SM', 0, None, None, 1)
B_TIME = Beta('B_TIME', 0, None, None, 0)
B_COST = Beta('B_COST', 0, None, None, 0)
V1 = ASC_TRAIN + B_TIME * TRAIN_TT_SCALED + B_COST * TRAIN_COST_SCALED
V2 = ASC_SM + B_TIME * SM_TT_SCALED + B_COST * SM_COST_SCALED
V3 = ASC_CAR + B_TIME * CAR_TT_SCALED + B_COST * CAR_CO_SCALED
V = {1: V1, 2: V2, 3: V3}
av = {1: TRAIN_AV_SP, 2: SM_AV, 3: CAR_AV_SP}
logprob = models.loglogit(V, av, CHOICE)
the_biogeme = bio.BIOGEME(database, logprob)
results = the_biogeme.estimate()
print(results.short_summary())
"""

PYLOGIT = r"""
from collections import OrderedDict
import pandas as pd
import numpy as np
import pylogit as pl

wide_swiss_metro = pd.read_table("swissmetro.dat", sep='\t')
include_criteria = (wide_swiss_metro.PURPOSE.isin([1, 3]) & (wide_swiss_metro.CHOICE != 0))
wide_swiss_metro = wide_swiss_metro.loc[include_criteria].copy()
ind_variables = wide_swiss_metro.columns.tolist()[:15]
alt_varying_variables = {
    u'travel_time': dict([(1, 'TRAIN_TT'), (2, 'SM_TT'), (3, 'CAR_TT')]),
    u'travel_cost': dict([(1, 'TRAIN_CO'), (2, 'SM_CO'), (3, 'CAR_CO')]),
    u'headway': dict([(1, 'TRAIN_HE'), (2, 'SM_HE')]),
    u'seat_configuration': dict([(2, "SM_SEATS")]),
}
availability_variables = {1: 'TRAIN_AV', 2: 'SM_AV', 3: 'CAR_AV'}
custom_alt_id = "mode_id"
obs_id_column = "custom_id"
wide_swiss_metro[obs_id_column] = np.arange(wide_swiss_metro.shape[0], dtype=int) + 1
choice_column = "CHOICE"
long_swiss_metro = pl.convert_wide_to_long(
    wide_swiss_metro, ind_variables, alt_varying_variables, availability_variables,
    obs_id_column, choice_column, new_alt_id_name=custom_alt_id)
long_swiss_metro["travel_time_hrs"] = (long_swiss_metro["travel_time"] / 60.0)
long_swiss_metro["headway_hrs"] = (long_swiss_metro["headway"] / 60.0)
long_swiss_metro["free_ticket"] = (
    ((long_swiss_metro["GA"] == 1) | (long_swiss_metro["WHO"] == 2))
    & long_swiss_metro[custom_alt_id].isin([1, 2])).astype(int)
long_swiss_metro["travel_cost_hundreth"] = (
    long_swiss_metro["travel_cost"] * (long_swiss_metro["free_ticket"] == 0) / 100.0)
long_swiss_metro["single_luggage_piece"] = (long_swiss_metro["LUGGAGE"] == 1).astype(int)
long_swiss_metro["multiple_luggage_pieces"] = (long_swiss_metro["LUGGAGE"] == 3).astype(int)
long_swiss_metro["regular_class"] = 1 - long_swiss_metro["FIRST"]
long_swiss_metro["train_survey"] = 1 - long_swiss_metro["SURVEY"]

basic_specification = OrderedDict()
basic_names = OrderedDict()
basic_specification["intercept"] = [1, 2]
basic_names["intercept"] = ['ASC Train', 'ASC Swissmetro']
basic_specification["travel_time_hrs"] = [[1, 2, ], 3]
basic_names["travel_time_hrs"] = ['Travel Time, units:hrs (Train and Swissmetro)',
                                  'Travel Time, units:hrs (Car)']
basic_specification["travel_cost_hundreth"] = [1, 2, 3]
basic_names["travel_cost_hundreth"] = [
    'Travel Cost * (Annual Pass == 0), units: 0.01 CHF (Train)',
    'Travel Cost * (Annual Pass == 0), units: 0.01 CHF (Swissmetro)',
    'Travel Cost, units: 0.01 CHF (Car)']
basic_specification["headway_hrs"] = [1, 2]
basic_names["headway_hrs"] = ["Headway, units:hrs, (Train)", "Headway, units:hrs, (Swissmetro)"]
basic_specification["seat_configuration"] = [2]
basic_names["seat_configuration"] = ['Airline Seat Configuration, base=No (Swissmetro)']
basic_specification["train_survey"] = [[1, 2]]
basic_names["train_survey"] = ["Surveyed on a Train, base=No, (Train and Swissmetro)"]
basic_specification["regular_class"] = [1]
basic_names["regular_class"] = ["First Class == False, (Swissmetro)"]
basic_specification["single_luggage_piece"] = [3]
basic_names["single_luggage_piece"] = ["Number of Luggage Pieces == 1, (Car)"]
basic_specification["multiple_luggage_pieces"] = [3]
basic_names["multiple_luggage_pieces"] = ["Number of Luggage Pieces > 1, (Car)"]
swissmetro_mnl = pl.create_choice_model(data=long_swiss_metro, alt_id_col=custom_alt_id,
    obs_id_col=obs_id_column, choice_col=choice_column, specification=basic_specification,
    model_type="MNL", names=basic_names)
swissmetro_mnl.fit_mle(np.zeros(14))
swissmetro_mnl.get_statsmodels_summary()
"""

XLOGIT = r"""
import pandas as pd
import numpy as np
from xlogit.utils import wide_to_long
from xlogit import MixedLogit, MultinomialLogit

df_wide = pd.read_table("http://transp-or.epfl.ch/data/swissmetro.dat", sep='\t')
# Keep only observations for commute and business purposes that contain known choices
df_wide = df_wide[(df_wide['PURPOSE'].isin([1, 3]) & (df_wide['CHOICE'] != 0))]
df_wide['custom_id'] = np.arange(len(df_wide))
df_wide['CHOICE'] = df_wide['CHOICE'].map({1: 'TRAIN', 2: 'SM', 3: 'CAR'})
df = wide_to_long(df_wide, id_col='custom_id', alt_name='alt', sep='_',
                  alt_list=['TRAIN', 'SM', 'CAR'], empty_val=0,
                  varying=['TT', 'CO', 'HE', 'AV', 'SEATS'], alt_is_prefix=True)
df['ASC_TRAIN'] = np.ones(len(df)) * (df['alt'] == 'TRAIN')
df['ASC_CAR'] = np.ones(len(df)) * (df['alt'] == 'CAR')
df['TT'], df['CO'] = df['TT'] / 100, df['CO'] / 100
annual_pass = (df['GA'] == 1) & (df['alt'].isin(['TRAIN', 'SM']))
df.loc[annual_pass, 'CO'] = 0
varnames = ['ASC_CAR', 'ASC_TRAIN', 'CO', 'TT']
model = MultinomialLogit()
model.fit(X=df[varnames], y=df['CHOICE'], varnames=varnames, alts=df['alt'], ids=df['custom_id'],
          avail=df['AV'])
model.summary()
"""

APOLLO = r"""
# Swissmetro with Apollo
rm(list = ls())
library(apollo)
apollo_initialise()
apollo_control = list(
  modelName  = "MNL_SM",
  modelDescr = "Simple MNL model",
  indivID    = "ID",
  panelData  = FALSE
)
database = read.csv("swissmetro.csv", header=TRUE)
database = subset(database, (database$PURPOSE == 1 | database$PURPOSE == 3) & database$CHOICE != 0)
database$cost_train = database$TRAIN_CO * (database$GA == 0) / 100
database$cost_sm    = database$SM_CO * (database$GA == 0) / 100
apollo_beta = c(asc_train = 0, asc_sm = 0, asc_car = 0,
                b_tt = 0,  # time
                b_cost = -0.1)
apollo_fixed = c("asc_sm")
apollo_inputs = apollo_validateInputs()
apollo_probabilities = function(apollo_beta, apollo_inputs, functionality = "estimate"){
  apollo_attach(apollo_beta, apollo_inputs)
  on.exit(apollo_detach(apollo_beta, apollo_inputs))
  P = list()
  V = list()
  V[["train"]] = asc_train + b_tt * TRAIN_TT / 100 + b_cost * cost_train
  V[["sm"]]    = asc_sm    + b_tt * SM_TT / 100    + b_cost * cost_sm
  V[["car"]]   = asc_car   + b_tt * CAR_TT / 100   + b_cost * CAR_CO / 100
  mnl_settings = list(
    alternatives = c(train=1, sm=2, car=3),
    avail        = list(train=TRAIN_AV*(SP!=0), sm=SM_AV, car=CAR_AV*(SP!=0)),
    choiceVar    = CHOICE,
    utilities    = V
  )
  P[["model"]] = apollo_mnl(mnl_settings, functionality)
  P = apollo_prepareProb(P, apollo_inputs, functionality)
  return(P)
}
model = apollo_estimate(apollo_beta, apollo_fixed, apollo_probabilities, apollo_inputs)
apollo_modelOutput(model)
"""
