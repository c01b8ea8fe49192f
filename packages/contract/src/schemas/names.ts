export const databaseNamePattern = /^[a-z][a-z0-9_]{0,30}$/
export const envNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
