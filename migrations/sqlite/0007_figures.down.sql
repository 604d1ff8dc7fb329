-- Takes away the figures by hour and what clients said of themselves.
DROP TABLE clients;
DROP TABLE figures;
