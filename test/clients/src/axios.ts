// What programs with axios have in common.
import type { AxiosResponse } from "axios";
import type { Answer } from "./life.js";

// settings are for each call. axios names lists with brackets (status[]), as the description does not, unless told otherwise:
// https://github.com/axios/axios/pull/4960
export const settings = (baseURL: string | undefined, key: string | undefined) => ({
  ...(baseURL && { baseURL }),
  headers: { Authorization: `Bearer ${key}` },
  paramsSerializer: { indexes: null },
  validateStatus: () => true,
});

type Result<T> = Pick<AxiosResponse<T>, "status" | "data" | "headers">;

export async function answer<T>(call: Promise<Result<T>>): Promise<Answer<T>> {
  const { status, data, headers } = await call;
  const ok = status < 300;
  return { status, data: ok ? data : undefined, error: ok ? undefined : (data as Answer<T>["error"]), retryAfter: headers["retry-after"] as string | undefined };
}
