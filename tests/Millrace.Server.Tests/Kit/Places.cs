namespace Millrace.Server.Tests.Kit;

/// <summary>Where things are. Not from CallerFilePath: a CI build maps the paths of sources.</summary>
internal static class Places
{
    public static string Repository { get; } = FindRepository();

    /// <summary>A folder for what tests keep.</summary>
    public static string Artifacts { get; } =
        Directory.CreateDirectory(Environment.GetEnvironmentVariable("MILLRACE_ARTIFACTS") is { Length: > 0 } reported
            ? reported
            : Path.Combine(Repository, "artifacts", "test")).FullName;

    /// <summary>The program that a run is about, which MILLRACE_PROGRAM names; null for one that the tests build.</summary>
    public static string? GivenProgram { get; } = Environment.GetEnvironmentVariable("MILLRACE_PROGRAM") is { Length: > 0 } path
        ? Path.GetFullPath(path, Repository)
        : null;

    /// <summary>
    /// A folder with Release builds that are made already, which MILLRACE_BUILT names: "ordinary" is the program on .NET, "samples" has a
    /// folder for each sample. Null where the tests build them.
    /// </summary>
    public static string? Built { get; } = Environment.GetEnvironmentVariable("MILLRACE_BUILT") is { Length: > 0 } folder
        ? Path.GetFullPath(folder, Repository)
        : null;

    public static string SampleSite { get; } = Path.Combine(Repository, "samples", "site");

    /// <summary>The sample site's files as paths of URLs.</summary>
    public static IEnumerable<string> SampleTargets => Directory
        .GetFiles(SampleSite, "*", SearchOption.AllDirectories)
        .Select(static path => "/" + Path.GetRelativePath(SampleSite, path))
        .Order(StringComparer.Ordinal);

    /// <summary>The text of a file of the repository.</summary>
    public static string Read(string path) => File.ReadAllText(Path.Combine(Repository, path));

    private static string FindRepository()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, "Millrace.slnx")))
        {
            folder = folder.Parent;
        }

        return folder?.FullName ?? throw new DirectoryNotFoundException("Millrace.slnx is in no folder above the tests.");
    }
}
