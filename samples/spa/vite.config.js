import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [vue()],
  // Pictures stay files of their own, so that there is something to be cached.
  build: { assetsInlineLimit: 0 },
});
