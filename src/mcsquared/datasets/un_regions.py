"""The five regional groups of the United Nations, by the members' ISO 3166 alpha-3 codes.

Former members are in the group to which they belonged; observers that belong to none are left out.
"""

_STATES = {
    "Africa": "AGO BDI BEN BFA BWA CAF CIV CMR COD COG COM CPV DJI DZA EGY ERI ETH GAB GHA GIN GMB "
    "GNB GNQ KEN LBR LBY LSO MAR MDG MLI MOZ MRT MUS MWI NAM NER NGA RWA SDN SEN SLE SOM SSD STP "
    "SWZ SYC TCD TGO TUN TZA UGA ZAF ZMB ZWE",
    "Asia-Pacific": "AFG ARE BGD BHR BRN BTN CHN CYP FJI FSM IDN IND IRN IRQ JOR JPN KAZ KGZ KHM "
    "KIR KOR KWT LAO LBN LKA MDV MHL MMR MNG MYS NPL NRU OMN PAK PHL PLW PNG PRK QAT SAU SGP SLB "
    "SYR THA TJK TKM TLS TON TUV UZB VNM VUT WSM YEM YMD",
    "Eastern Europe": "ALB ARM AZE BGR BIH BLR CSK CZE DDR EST GEO HRV HUN LTU LVA MDA MKD MNE POL "
    "ROU RUS SRB SVK SVN UKR YUG",
    "Latin America and Caribbean": "ARG ATG BHS BLZ BOL BRA BRB CHL COL CRI CUB DMA DOM ECU GRD "
    "GTM GUY HND HTI JAM KNA LCA MEX NIC PAN PER PRY SLV SUR TTO URY VCT VEN",
    "Western Europe and others": "AND AUS AUT BEL CAN CHE DEU DNK ESP FIN FRA GBR GRC IRL ISL ISR "
    "ITA LIE LUX MCO MLT NLD NOR NZL PRT SMR SWE TUR USA",
}

UN_REGIONS = {code: region for region, codes in _STATES.items() for code in codes.split()}
