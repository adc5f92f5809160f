using System.Globalization;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Without OpenSSL on the machine the program serves what needs none, and no request ends it.</summary>
public class MissingOpenSslTests
{
    /// <summary>Hides the libraries in a mount namespace of the process.</summary>
    private const string Hide = """
        for library in $(ldconfig -p | awk '/lib(ssl|crypto)\.so/ { print $NF }'); do mount --bind /dev/null "$library"; done
        exec "$@"
        """;

    [Fact]
    public async Task Pages_listings_and_ranges_need_no_openssl()
    {
        Nobody.RequireRoot();
        Assert.SkipWhen(Publication.IsOrdinary, "The ordinary build loads OpenSSL with .NET.");
        using var folder = new TempFolder();
        folder.WriteText("a.txt", "0123456789");
        string[] command = ["--mount", "sh", "-c", Hide, "sh", Publication.Program, folder.Root, "--listen", "127.0.0.1:0", "--listing"];
        await using ServerProcess server = await ServerProcess.StartAsync("unshare", command, "Serving ");
        foreach ((string path, string field, int status) in ((string, string, int)[])
        [
            ("/none", "Accept: text/html", 404), ("/", "Accept: text/html", 200), ("/", "Accept: application/json", 200),
            ("/a.txt", "Range: bytes=0-1,4-5", 206), ("/a.txt", "If-None-Match: \"x\"", 200),
        ])
        {
            string[] curl = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", field, new Uri(server.Url, path).AbsoluteUri];
            ToolResult answer = await Tool.RunAsync("curl", curl);
            Assert.Equal(status.ToString(CultureInfo.InvariantCulture), answer.Output);
        }
    }
}
