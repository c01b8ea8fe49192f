/** The account that reads for people who look into a database. No dump and no count of contents has it. */
export const readerName = 'stackquay_reader'
export const readerPrefix = 'stackquay_reader:'
