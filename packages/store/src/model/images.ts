/** One build of an image, as the engine calls both. */
export interface WorkloadImage {
  readonly workload: string
  /** As it was asked for: `postgres:18`. */
  readonly reference: string
  /** The id of the build. */
  readonly image: string
}

export interface ImageUse extends WorkloadImage {
  readonly firstUsedAt: string
  /** When the workload last began to use it. */
  readonly lastUsedAt: string
}

export interface ImageReader {
  /** Of a workload or of all, newest first. */
  uses(project: string, workload?: string): Promise<readonly ImageUse[]>
  pins(project: string): Promise<readonly WorkloadImage[]>
}

export interface ImageWriter {
  /** A workload runs from this build now. The builds of one image that it had last are remembered. */
  used(project: string, image: WorkloadImage): Promise<void>
  /** From now on the workload stays with this build, whatever its reference comes to mean. */
  pin(project: string, image: WorkloadImage): Promise<void>
  unpin(project: string, workload: string, reference: string): Promise<void>
}
