using System.Text;
using System.Text.Json.Nodes;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary>Files and variables as an operator uses them.</summary>
public class ConfigurationCommandTests
{
    [Fact]
    public async Task What_init_writes_is_served()
    {
        using var folder = new TempFolder();
        Directory.CreateDirectory(folder.PathOf("public"));
        File.Copy(Path.Combine(Places.SampleSite, "index.html"), folder.PathOf("public/index.html"));
        string file = folder.PathOf("millrace.json");
        ToolResult made = await Tool.RunAsync(Publication.Program, "init", file);
        Assert.Equal((0, ""), (made.ExitCode, made.Error));
        string text = await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken);

        ToolResult again = await Tool.RunAsync(Publication.Program, "init", file);
        Assert.Equal(2, again.ExitCode);
        Assert.Contains("already exists and was not changed", again.Error, StringComparison.Ordinal);
        Assert.Equal(text, await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken));

        ToolResult check = await Tool.RunAsync(Publication.Program, "check", file);
        Assert.Equal((0, ""), (check.ExitCode, check.Error));
        Assert.Equal($"Would listen on http://127.0.0.1:8080/\nWould serve {folder.PathOf("public")} (1 file)\n", check.Output);
        await using ServerProcess server = await ServerProcess.StartAsync("--config", file, "--listen", "127.0.0.1:0");
        Assert.Contains("Aldermere Mill", Encoding.UTF8.GetString(Wire.Get(server.Url, "/").Body), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_file_may_come_through_a_pipe()
    {
        const string Script = """printf '{ "root": "%s", "lisen": 1 }' "$1" | "$0" check /dev/stdin""";
        ToolResult check = await Tool.RunAsync("sh", "-c", Script, Publication.Program, Places.SampleSite);
        Assert.Equal(2, check.ExitCode);
        Assert.Contains("'lisen' is not an option. Did you mean 'listen'?", check.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_environment_goes_before_the_file_and_flags_before_both()
    {
        using var folder = new TempFolder();
        string file = folder.PathOf("m.json");
        await File.WriteAllTextAsync(
            file,
            $$"""{ "root": "{{Places.SampleSite}}", "listen": "nowhere:0", "header": ["X-A: file", "X-B: file"], "charset": "none" }""",
            TestContext.Current.CancellationToken);
        await using ServerProcess server = await StartAsync(
            [$"MILLRACE_CONFIG={file}", "MILLRACE_LISTEN=nowhere:1", "MILLRACE_HEADER=X-A: one\nX-C: two"], "--listen", "127.0.0.1:0");

        WireResponse response = Wire.Get(server.Url, "/");
        Assert.Equal(("one", null, "two"), (response.Field("X-A"), response.Field("X-B"), response.Field("X-C")));
        Assert.Equal("text/html", response.Field("Content-Type"));
    }

    [Fact]
    public async Task All_mistakes_of_a_file_are_reported_and_nothing_is_served()
    {
        using var folder = new TempFolder();
        string file = folder.PathOf("m.json");
        await File.WriteAllTextAsync(file, "{\n  \"rooot\": \".\",\n  \"listing\": 1\n}", TestContext.Current.CancellationToken);
        string expected = $"millrace: {file}:2:3: 'rooot' is not an option. Did you mean 'root'?\n"
            + $"millrace: {file}:3:14: listing must be true or false, not a number.\n";
        foreach (string[] arguments in (string[][])[["--config", file], ["check", file], ["check", "--config", file]])
        {
            Assert.Equal(new ToolResult(2, "", expected), await Tool.RunAsync(Publication.Program, arguments));
        }
    }

    [Theory]
    [InlineData("does not exist. 'millrace init nothing.json' writes a starter file", "--config", "nothing.json")]
    [InlineData("does not exist", "check", "nothing.json")]
    [InlineData("cannot be read", "--config", "/")]
    [InlineData("Two configuration files", "check", "a.json", "--config", "b.json")]
    [InlineData("is not an option", "check", "--nope")]
    [InlineData("--config", "--config")]
    [InlineData("is not a valid address", "check", "--listen", "x")]
    [InlineData("/a.pem' does not exist", "check", "--https", "--cert", "a.pem")]
    [InlineData("cannot be written", "init", "no/such/folder/m.json")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, arguments);
        Assert.NotEqual(0, result.ExitCode);
        Assert.StartsWith("millrace: ", result.Error, StringComparison.Ordinal);
        Assert.Contains(words, result.Error, StringComparison.Ordinal);
        Assert.Equal(result.Error.Length - 1, result.Error.IndexOf('\n', StringComparison.Ordinal));
    }

    [Fact]
    public async Task Check_says_what_would_be_served_and_for_whom()
    {
        using var folder = new TempFolder();
        string[] certificate = OwnCertificate.Make(folder, "a", "a.example", "*.a.example");
        ToolResult result = await Tool.RunAsync(
            Publication.Program,
            ["check", Places.SampleSite, "--listen", "8080", "--https", "[::1]:8443", .. certificate, "--https-redirect", "--host", $"b.example={folder.Root}"]);

        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.Equal(
            [
                "Would listen on https://[::1]:8443/",
                "Would listen on http://localhost:8080/ (all interfaces) (redirects to HTTPS)",
                $"Certificate for a.example, *.a.example is valid until {DateTime.UtcNow.AddDays(90):yyyy-MM-dd} (90 days)",
                $"Would serve {Places.SampleSite} ({Places.SampleTargets.Count()} files)",
                $"Would serve {folder.Root} (2 files) for b.example",
                "",
            ],
            result.Output.Split('\n'));
    }

    [Fact]
    public async Task Check_goes_on_behind_a_folder_that_cannot_be_served()
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "check", Places.SampleSite, "--host", "a.example=nowhere", "--host", "b.example=nowhere2");
        Assert.Equal(2, result.ExitCode);
        Assert.Equal(3, result.Error.Split('\n').Length);
        Assert.Contains("Would serve", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Each_host_of_a_file_has_its_own_options()
    {
        using var folder = new TempFolder();
        folder.Add("a.txt", 10);
        await File.WriteAllTextAsync(
            folder.PathOf("m.json"),
            $$"""{ "root": "{{Places.SampleSite}}", "hosts": { "b.example": { "root": ".", "listing": true } } }""",
            TestContext.Current.CancellationToken);
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"), "--listen", "127.0.0.1:0");

        using Wire wire = Wire.Open(server.Url);
        Assert.Equal(200, wire.Send("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n"u8).Status);
        Assert.Equal(404, wire.Send("GET /styles/ HTTP/1.1\r\nHost: a.example\r\n\r\n"u8).Status);
    }

    [Fact]
    public async Task Schema_prints_what_editors_complete_from()
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "schema");
        Assert.Equal((0, "", Places.Read("docs/millrace.schema.json")), (result.ExitCode, result.Error, result.Output));
        Assert.Equal("https://json-schema.org/draft/2020-12/schema", (string?)JsonNode.Parse(result.Output)!["$schema"]);
    }

    private static Task<ServerProcess> StartAsync(string[] variables, params string[] arguments) => ServerProcess.StartAsync(
        "/usr/bin/env", [.. variables, Publication.Program, .. arguments, .. Publication.BackendFlags], lastLine: "Serving ");
}
