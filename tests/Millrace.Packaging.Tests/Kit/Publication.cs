namespace Millrace.Server.Tests.Kit;

/// <summary>The program as it ships, compiled ahead of time when the first test asks for it, or the one that MILLRACE_PROGRAM names.</summary>
internal static class Publication
{
    // Compiling takes a minute of both processors, and others may be using them.
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    private static readonly string Folder = Path.Combine(Places.Artifacts, "native");

    private static readonly Lazy<Task> Publishing = new(PublishAsync);

    internal static string Program { get; } = Places.GivenProgram ?? Path.Combine(Folder, "millrace");

    /// <summary>The server chooses: what is packed is asked to work where it is put.</summary>
    internal static string[] BackendFlags => [];

    /// <summary>Publishes it once for all tests. The compiler's warnings are errors.</summary>
    public static Task ReadyAsync() => Publishing.Value;

    private static async Task PublishAsync()
    {
        if (Places.GivenProgram is not null)
        {
            return;
        }

        if (Directory.Exists(Folder))
        {
            Directory.Delete(Folder, recursive: true);
        }

        await Tool.RunToSuccessAsync(
            Deadline,
            "dotnet", "publish", Path.Combine(Places.Repository, "src", "Millrace.Server"), "-p:PublishProfile=NativeAot",
            "-o", Folder, "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");
    }
}
