export interface UserIds {
  readonly uid: number
  readonly gid: number
}

/** The system user of a project. It may not be made yet. */
export interface ProjectUser extends UserIds {
  readonly number: number
  /** Null when the project is gone, or still to be created. */
  readonly project: string | null
  readonly name: string
  /** The user that all projects shared, while files of this one may still belong to it. */
  readonly before: UserIds | null
  /** Somebody’s own user, who owns the project’s folder: never made and never removed for the project. */
  readonly isOwner: boolean
  /** Waits for a project that is still to be created. */
  readonly isSpare: boolean
}

export interface ProjectUserReader {
  /** Also those of deleted projects. */
  all(): Promise<readonly ProjectUser[]>
}

export interface ProjectUserWriter {
  /** A number that was never given before. `name` makes the user's name of it. */
  add(user: {
    /** Null for a number that is taken and nobody's. */
    readonly project: string | null
    readonly name: (number: number) => string
    readonly uid: number
    readonly gid: number
    readonly before: UserIds | null
    /** Default: false. */
    readonly isOwner?: boolean
  }): Promise<ProjectUser>
  /** The same for a user that waits for its project. */
  addSpare(user: UserIds & { readonly name: (number: number) => string }): Promise<ProjectUser>
  /** A spare user is the project's from now on. Throws `ChangedError` when it is not spare any more. */
  give(number: number, project: string): Promise<void>
  /** A spare user that could not be made; its number and uid stay taken. */
  dropSpare(number: number): Promise<void>
  /** Another user of the machine had that uid. */
  setIds(number: number, ids: UserIds): Promise<void>
  /** All files of the project are its own user's now. */
  setMoved(number: number): Promise<void>
  /** The project is gone; its number and uid stay taken. */
  retire(project: string): Promise<void>
}
