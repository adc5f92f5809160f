using Millrace.Server.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>samples/WebApi as a process of its own, built once for all tests.</summary>
internal static class WebApiSample
{
    private static readonly Lazy<Task<string>> Built = new(BuildAsync);

    public static async Task<(ChildServer Server, Uri Url)> StartAsync(string transport, string https = "off")
    {
        Dictionary<string, string> settings = new()
        {
            ["TRANSPORT"] = transport,
            ["HTTPS"] = https,
            ["URL"] = "http://127.0.0.1:0",
        };
        return await ChildServer.StartAsync("Listening on ", settings, Path.Combine(await Built.Value, "WebApi"));
    }

    private static async Task<string> BuildAsync()
    {
        string folder = Path.Combine(Places.Artifacts, "WebApi");
        await Tool.RunToSuccessAsync(
            TimeSpan.FromMinutes(4),
            "dotnet", "build", Path.Combine(Places.Repository, "samples", "WebApi"), "-c", "Release", "-o", folder,
            "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");
        return folder;
    }
}
