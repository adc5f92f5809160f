namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>samples/WebApi as a process of its own.</summary>
internal static class WebApiSample
{
    public static async Task<(ChildServer Server, Uri Url)> StartAsync(string transport, string https = "off")
    {
        Dictionary<string, string> settings = new()
        {
            ["TRANSPORT"] = transport,
            ["HTTPS"] = https,
            ["URL"] = "http://127.0.0.1:0",
        };
        return await ChildServer.StartAsync("Listening on ", settings, SampleProgram.Of("WebApi"));
    }
}
