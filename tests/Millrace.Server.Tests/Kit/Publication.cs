namespace Millrace.Server.Tests.Kit;

/// <summary>The program under test: the one that MILLRACE_PROGRAM names, or else an ordinary build, published once per run.</summary>
public sealed class Publication : IAsyncLifetime
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    private static readonly string Folder = Path.Combine(Places.Built ?? Places.Artifacts, Places.Built is null ? "millrace" : "ordinary");

    private static readonly Lazy<Task<string>> Publishing = new(static () => Tool.RunToSuccessAsync(
        Deadline,
        "dotnet", "publish", Path.Combine(Places.Repository, "src", "Millrace.Server"), "-c", "Release", "-o", Folder,
        "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false"));

    /// <summary>The ordinary build, which runs on .NET and loads its assemblies and startup hooks.</summary>
    internal static string Ordinary { get; } = Path.Combine(Folder, "millrace");

    internal static string Program { get; } = Places.GivenProgram ?? Ordinary;

    internal static bool IsOrdinary => Places.GivenProgram is null;

    /// <summary>The backend of the run, from MILLRACE_BACKEND; without it the server chooses.</summary>
    internal static string[] BackendFlags { get; } =
        Environment.GetEnvironmentVariable("MILLRACE_BACKEND") is { Length: > 0 } asked ? ["--backend", asked] : [];

    /// <summary>Publishes the ordinary build once, whatever the run is about, unless that is done already.</summary>
    internal static Task OrdinaryReadyAsync() => Places.Built is null ? Publishing.Value : Task.CompletedTask;

    public async ValueTask InitializeAsync()
    {
        if (IsOrdinary)
        {
            await OrdinaryReadyAsync();
        }
        else if (!File.Exists(Program))
        {
            throw new FileNotFoundException("MILLRACE_PROGRAM names no file.", Program);
        }
    }

    public ValueTask DisposeAsync() => default;
}
