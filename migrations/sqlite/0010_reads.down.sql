DROP TABLE entry_reads;
