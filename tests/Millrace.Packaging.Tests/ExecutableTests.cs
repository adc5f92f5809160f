using System.Net;
using System.Runtime.InteropServices;
using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The executable that ships, where there is no .NET and nothing else of this repository.</summary>
public class ExecutableTests
{
    private const string Greeting = "A page from one executable.\n";

    [Fact]
    public async Task It_is_one_file_that_is_linked_to_the_c_library_only()
    {
        await Publication.ReadyAsync();

        Assert.Equal([Publication.Program], Directory.GetFileSystemEntries(Path.GetDirectoryName(Publication.Program)!));
        string linked = await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "ldd", Publication.Program);
        Assert.All(
            linked.Split('\n', StringSplitOptions.RemoveEmptyEntries),
            static line => Assert.Matches(@"^\s*(linux-vdso\.so|libc\.so|libm\.so|/lib64/ld-linux|/lib/ld-linux)", line));
    }

    [Fact]
    public async Task It_serves_http_and_https_with_an_empty_environment()
    {
        await Publication.ReadyAsync();
        using var folder = new TempFolder();
        string site = Directory.CreateDirectory(folder.PathOf("site")).FullName;
        await File.WriteAllTextAsync(Path.Combine(site, "index.html"), Greeting);

        await using ServerProcess server = await ServerProcess.StartAsync(
            "env",
            ["-i", "-C", folder.Root, Publication.Program, site, "-l", "127.0.0.1:0", "--https", "127.0.0.1:0", .. OwnCertificate.Make(folder, "own", "localhost")],
            "Serving ");

        await AssertServesAsync(server);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    [Fact]
    public async Task It_compresses_in_the_background()
    {
        await Publication.ReadyAsync();
        using var folder = new TempFolder();
        await File.WriteAllTextAsync(folder.PathOf("long.txt"), string.Concat(Enumerable.Repeat(Greeting, 1000)));

        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "-l", "127.0.0.1:0");

        using var client = new HttpClient();
        foreach (string coding in (string[])["br", "gzip"])
        {
            Assert.Equal(coding, await CodingOnceItIsThereAsync(client, new Uri(server.Url, "long.txt"), coding));
        }
    }

    [Fact]
    public async Task Nothing_is_unpacked_beside_it_or_in_the_temporary_folder()
    {
        await Publication.ReadyAsync();
        using var folder = new TempFolder();

        ToolResult result = await Tool.RunAsync(
            "env", "-i", $"TMPDIR={folder.Root}", $"HOME={folder.Root}", $"DOTNET_BUNDLE_EXTRACT_BASE_DIR={folder.Root}", Publication.Program, "--help");

        Assert.Equal(0, result.ExitCode);
        Assert.Contains("--listen", result.Output, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(folder.Root));
    }

    [Fact]
    public async Task The_doctor_and_complaints_are_as_ever()
    {
        await Publication.ReadyAsync();

        ToolResult doctor = await Tool.RunAsync("env", "-i", Publication.Program, "doctor", Places.SampleSite, "--json");
        ToolResult mistyped = await Tool.RunAsync("env", "-i", Publication.Program, "--lisen", "8080");

        Assert.InRange(doctor.ExitCode, 0, 1);
        using JsonDocument findings = JsonDocument.Parse(doctor.Output);
        Assert.NotEmpty(findings.RootElement.GetProperty("findings").EnumerateArray());
        Assert.Equal(2, mistyped.ExitCode);
        Assert.Contains("--lisen", mistyped.Error, StringComparison.Ordinal);
    }

    /// <summary>A root with nothing but the file and the libraries it is linked to, and OpenSSL, which it opens by name.</summary>
    [Fact]
    public async Task It_serves_in_a_root_that_holds_only_its_libraries()
    {
        Assert.SkipUnless(Environment.UserName == "root", "Only root may change its root.");
        await Publication.ReadyAsync();
        using var folder = new TempFolder();
        await BareRoot.MakeAsync(folder.Root, Publication.Program);
        Directory.CreateDirectory(folder.PathOf("site"));
        await File.WriteAllTextAsync(folder.PathOf("site/index.html"), Greeting);
        await File.WriteAllTextAsync(folder.PathOf("site/long.txt"), new string('x', 8000));
        OwnCertificate.Make(folder, "own", "localhost");

        await using ServerProcess server = await ServerProcess.StartAsync(
            Chroot.Launcher,
            Chroot.Arguments(
                folder.Root,
                "/millrace", "/site", "-l", "127.0.0.1:0", "--https", "127.0.0.1:0", "--cert", "/own.crt", "--key", "/own.key"),
            "Serving ");

        await AssertServesAsync(server);
        using HttpClient client = OwnCertificate.Trusting();
        using var ranges = new HttpRequestMessage(HttpMethod.Get, server.Addresses[0] + "/long.txt");
        ranges.Headers.Add("Range", "bytes=0-0,4000-");
        using HttpResponseMessage parts = await client.SendAsync(ranges);
        Assert.Equal("multipart/byteranges", parts.Content.Headers.ContentType?.MediaType);
    }

    private static async Task AssertServesAsync(ServerProcess server)
    {
        using HttpClient client = OwnCertificate.Trusting();
        Assert.Equal(2, server.Addresses.Count);
        foreach (string address in server.Addresses)
        {
            Assert.Equal(Greeting, await client.GetStringAsync(new Uri(address)));
        }
    }

    /// <summary>Compressing is done behind the answers: they are plain until it is done, within a minute.</summary>
    private static async Task<string?> CodingOnceItIsThereAsync(HttpClient client, Uri url, string coding)
    {
        using var end = new CancellationTokenSource(TimeSpan.FromMinutes(1));
        while (true)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, url) { Headers = { { "Accept-Encoding", coding } } };
            using HttpResponseMessage response = await client.SendAsync(request, end.Token);
            Assert.Equal(HttpStatusCode.OK, response.StatusCode);
            if (response.Content.Headers.ContentEncoding.Count > 0)
            {
                return response.Content.Headers.ContentEncoding.Single();
            }

            await Task.Delay(TimeSpan.FromMilliseconds(50), end.Token);
        }
    }
}
