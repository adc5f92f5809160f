using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>
/// A build deletes its output folder and creates it again, with a server started in it: relative paths are those of the folder's name at
/// the start, not of the folder that is gone.
/// </summary>
public sealed class WorkingDirectoryTests : IDisposable
{
    /// <summary>SIGUSR1, which .NET has no name for.</summary>
    private const int UserSignal = 10;

    private readonly TempFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData]
    [InlineData(".")]
    [InlineData("./")]
    [InlineData("../dist")]
    public async Task A_working_directory_that_is_deleted_and_made_again_is_served_again_by_the_watch(params string[] root)
    {
        Make("dist/index.html", "one");
        await using ServerProcess server = await StartInAsync("dist", [.. root, "--listen", "127.0.0.1:0"]);
        Assert.Equal("one", TextOf(Wire.Get(server.Url, "/")));

        Directory.Delete(_folder.PathOf("dist"), recursive: true);
        Make("dist/index.html", "two");

        await Wire.AwaitAsync(server.Url, "/", static response => TextOf(response) == "two");
        Make("dist/more.html", "three");
        await Wire.AwaitAsync(server.Url, "/more.html", static response => TextOf(response) == "three");
    }

    [Fact]
    public async Task A_working_directory_that_is_deleted_and_made_again_is_served_again_for_each_request_where_nothing_is_watched()
    {
        Make("dist/index.html", "one");
        await using ServerProcess server = await StartInAsync("dist", "--listen", "127.0.0.1:0", "--watch", "revalidate");

        Directory.Delete(_folder.PathOf("dist"), recursive: true);
        Make("dist/index.html", "two");

        Assert.Equal("two", TextOf(Wire.Get(server.Url, "/")));
    }

    [Fact]
    public async Task Relative_paths_are_read_again_from_a_working_directory_that_was_made_again()
    {
        MakeAll("one", "alice");
        await using ServerProcess server = await StartInAsync(
            "dist", "--config", "m.json", "--listen", "127.0.0.1:0", "--https", "127.0.0.1:0", "--cert", "a.crt", "--key", "a.key",
            "--host", "b.test=../dist/b", "--auth", ".users", "--access-log", "access.log", "--watch", "off");
        Assert.Equal("one", TextOf(Get(server, "millrace", "alice")));

        Directory.Delete(_folder.PathOf("dist"), recursive: true);
        MakeAll("two", "bob");
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync(" applied: ");
        await server.AwaitErrorAsync("Certificates reloaded");
        server.Signal((PosixSignal)UserSignal);
        await server.AwaitErrorAsync("The access log was reopened");

        Assert.Equal("two", TextOf(Get(server, "millrace", "bob")));
        Assert.Equal("b of two", TextOf(Get(server, "b.test", "bob")));
        Assert.Equal("of two", Get(server, "millrace", "bob").Field("X-Of"));
        Assert.Equal(0, server.CountErrors("cannot be"));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Contains("GET", await File.ReadAllTextAsync(_folder.PathOf("dist/access.log"), TestContext.Current.CancellationToken),
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_that_is_started_in_a_directory_that_is_no_more_says_so()
    {
        Make("dist/index.html", "one");

        ToolResult result = await Tool.RunAsync(
            "/bin/sh", ["-c", "cd \"$0\" && rm -r \"$0\" && exec \"$@\"", _folder.PathOf("dist"), Publication.Program]);

        result.AssertRefused(2, "The working directory no longer exists");
    }

    private static string TextOf(WireResponse response) => Encoding.UTF8.GetString(response.Body);

    private static WireResponse Get(ServerProcess server, string host, string user)
    {
        using Wire wire = Wire.Open(server.Url);
        string login = Convert.ToBase64String(Encoding.ASCII.GetBytes($"{user}:secret"));
        return wire.Send(Encoding.ASCII.GetBytes($"GET /index.html HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic {login}\r\n\r\n"));
    }

    /// <summary>Starts the server in a folder as a shell does.</summary>
    private Task<ServerProcess> StartInAsync(string folder, params string[] arguments) => ServerProcess.StartAsync(
        "/bin/sh",
        ["-c", "cd \"$0\" && exec \"$@\"", _folder.PathOf(folder), Publication.Program, .. arguments, .. Publication.BackendFlags],
        "Serving ");

    private void MakeAll(string text, string user)
    {
        Make("dist/index.html", text);
        Make("dist/b/index.html", $"b of {text}");
        Make("dist/m.json", $$"""{ "header": "X-Of: of {{text}}" }""");
        Make("dist/.users", $"{user}:{Hash}\n");
        _ = OwnCertificate.Make(_folder, "dist/a", "millrace", "b.test");
    }

    /// <summary>Of <c>secret</c>.</summary>
    private const string Hash = "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG.";

    private void Make(string path, string text)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(_folder.PathOf(path))!);
        _folder.WriteText(path, text);
    }
}
