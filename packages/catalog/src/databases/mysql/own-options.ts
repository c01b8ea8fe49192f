/** Options of MySQL alone, for making its data and for running it. */
export const ownOptions = [
  // The second protocol would listen on a port and a socket of its own. Builds without it take no offence.
  '--loose-mysqlx=OFF',
  // Packages compile a directory in that a server of theirs owns; where it is missing, none starts. Users have no FILE right.
  '--secure-file-priv=NULL',
] as const
