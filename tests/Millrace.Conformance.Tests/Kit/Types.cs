namespace Millrace.Conformance.Tests.Kit;

/// <summary>Extensions of the web, and the types that are right for them: several where registrations changed.</summary>
internal static class Types
{
    public static readonly IReadOnlyDictionary<string, string[]> All = new Dictionary<string, string[]>(StringComparer.Ordinal)
    {
        ["html"] = ["text/html"],
        ["css"] = ["text/css"],
        ["js"] = ["text/javascript", "application/javascript"],
        ["mjs"] = ["text/javascript", "application/javascript"],
        ["json"] = ["application/json"],
        ["xml"] = ["text/xml", "application/xml"],
        ["svg"] = ["image/svg+xml"],
        ["png"] = ["image/png"],
        ["jpg"] = ["image/jpeg"],
        ["gif"] = ["image/gif"],
        ["webp"] = ["image/webp"],
        ["avif"] = ["image/avif"],
        ["ico"] = ["image/x-icon", "image/vnd.microsoft.icon"],
        ["woff2"] = ["font/woff2"],
        ["wasm"] = ["application/wasm"],
        ["mp4"] = ["video/mp4"],
        ["pdf"] = ["application/pdf"],
        ["md"] = ["text/markdown"],
        ["webmanifest"] = ["application/manifest+json"],
        ["zip"] = ["application/zip"],
    };
}
