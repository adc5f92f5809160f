namespace Millrace.Server.Tests.Kit;

/// <summary>The program as it ships, published once per run.</summary>
public sealed class Publication : IAsyncLifetime
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(3);

    private static readonly string Folder = Path.Combine(Places.Artifacts, "millrace");

    internal static string Program { get; } = Path.Combine(Folder, "millrace");

    public async ValueTask InitializeAsync() => await Tool.RunToSuccessAsync(
        Deadline,
        "dotnet", "publish", Path.Combine(Places.Repository, "src", "Millrace.Server"), "-c", "Release", "-o", Folder,
        "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");

    public ValueTask DisposeAsync() => default;
}
