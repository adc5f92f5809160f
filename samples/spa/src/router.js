import { createRouter, createWebHistory } from "vue-router";
import Wheels from "./pages/Wheels.vue";

// Pages beyond the first are chunks of their own, fetched when they are first shown.
export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: "/", component: Wheels },
    { path: "/wheels/:name", component: () => import("./pages/Wheel.vue"), props: true },
    { path: "/visits/:year(\\d+)/:month(\\d+)", component: () => import("./pages/Visits.vue"), props: true },
    { path: "/:path(.*)*", component: () => import("./pages/Nowhere.vue") },
  ],
});
