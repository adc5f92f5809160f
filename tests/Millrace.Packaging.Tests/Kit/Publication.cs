namespace Millrace.Server.Tests.Kit;

/// <summary>The program as one file that needs no .NET, published when the first test asks for it.</summary>
internal static class Publication
{
    // Trimming and compiling ahead are a minute of both processors, and others may be using them.
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    private static readonly string Folder = Path.Combine(Places.Artifacts, "single-file");

    private static readonly Lazy<Task<string>> Publishing = new(PublishAsync);

    internal static string Program { get; } = Path.Combine(Folder, "millrace");

    /// <summary>The server chooses: what is packed is asked to work where it is put.</summary>
    internal static string[] BackendFlags => [];

    /// <summary>Publishes it once for all tests; what the SDK said.</summary>
    public static Task<string> ReadyAsync() => Publishing.Value;

    private static async Task<string> PublishAsync()
    {
        if (Directory.Exists(Folder))
        {
            Directory.Delete(Folder, recursive: true);
        }

        return await Tool.RunToSuccessAsync(
            Deadline,
            "dotnet", "publish", Path.Combine(Places.Repository, "src", "Millrace.Server"), "-p:PublishProfile=SingleFile",
            "-o", Folder, "--nologo", "-v", "minimal", "-tl:off", "-nodeReuse:false");
    }
}
