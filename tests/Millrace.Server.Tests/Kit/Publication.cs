namespace Millrace.Server.Tests.Kit;

/// <summary>The program as it ships, published once per run.</summary>
public sealed class Publication : IAsyncLifetime
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    private static readonly string Folder = Path.Combine(Places.Artifacts, "millrace");

    internal static string Program { get; } = Path.Combine(Folder, "millrace");

    /// <summary>The backend of the run, from MILLRACE_BACKEND; without it the server chooses.</summary>
    internal static string[] BackendFlags { get; } =
        Environment.GetEnvironmentVariable("MILLRACE_BACKEND") is { Length: > 0 } asked ? ["--backend", asked] : [];

    public async ValueTask InitializeAsync() => await Tool.RunToSuccessAsync(
        Deadline,
        "dotnet", "publish", Path.Combine(Places.Repository, "src", "Millrace.Server"), "-c", "Release", "-o", Folder,
        "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");

    public ValueTask DisposeAsync() => default;
}
