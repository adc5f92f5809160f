namespace Millrace.Server.Tests.Kit;

/// <summary>samples/spa as Vite builds it.</summary>
internal static class GeneratedSite
{
    private static readonly string Source = Path.Combine(Places.Repository, "samples", "spa");

    /// <summary>Builds it where that was not done, and returns the folder to serve.</summary>
    public static async Task<string> BuildAsync() => Path.Combine(
        await NodeProject.MakeAsync(
            Source, "spa", static work => Tool.RunToSuccessAsync(NodeProject.Deadline, "npm", "run", "build", "--prefix", work)),
        "dist");
}
