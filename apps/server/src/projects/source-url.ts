/** Name under which the URL of a repository is sealed when it holds credentials. */
export const sourceUrlSecret = 'source/url'
