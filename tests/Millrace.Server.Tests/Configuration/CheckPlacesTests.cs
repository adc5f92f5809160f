using System.Net.Sockets;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary><c>millrace check</c> on files and sockets that a server would make; <c>millrace doctor</c> says the same.</summary>
public sealed class CheckPlacesTests : IDisposable
{
    private readonly TempFolder _folder = new();

    public CheckPlacesTests()
    {
        Directory.CreateDirectory(_folder.PathOf("site"));
        _folder.Add("site/a.txt", 10);
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_log_that_can_be_made_or_appended_to_is_fine_and_left_as_it_is()
    {
        _folder.WriteText("old.log", "a line\n");
        DateTime before = File.GetLastWriteTimeUtc(_folder.PathOf("old.log"));
        foreach (string log in (string[])["old.log", "new.log"])
        {
            ToolResult result = await CheckAsync("--access-log", _folder.PathOf(log), "--admin", "9180");
            Assert.Equal((0, ""), (result.ExitCode, result.Error));
            Assert.Contains($"Would write the access log to {_folder.PathOf(log)}\n", result.Output, StringComparison.Ordinal);
            Assert.Contains("Would serve admin pages on http://127.0.0.1:9180/\n", result.Output, StringComparison.Ordinal);
        }

        Assert.False(File.Exists(_folder.PathOf("new.log")));
        Assert.Equal("a line\n", File.ReadAllText(_folder.PathOf("old.log")));
        Assert.Equal(before, File.GetLastWriteTimeUtc(_folder.PathOf("old.log")));
    }

    [Theory]
    [InlineData("The access log cannot be opened at FOLDER/no/a.log: the folder 'FOLDER/no' does not exist", "--access-log", "FOLDER/no/a.log")]
    [InlineData("The access log cannot be opened at FOLDER: it is a directory", "--access-log", "FOLDER")]
    [InlineData("The access log cannot be opened at syslog (FOLDER/no): it does not exist", "--access-log", "syslog:FOLDER/no")]
    [InlineData("The socket 'FOLDER/no/a.sock' cannot be created: the folder 'FOLDER/no' does not exist", "--listen", "unix:FOLDER/no/a.sock")]
    [InlineData("The socket 'FOLDER/no/a.sock' cannot be created: the folder 'FOLDER/no' does not exist", "--admin", "unix:FOLDER/no/a.sock")]
    [InlineData("'FOLDER/site/a.txt' exists and is not a socket", "--listen", "unix:FOLDER/site/a.txt")]
    [InlineData("'no-such-user' is not a known user", "--user", "no-such-user")]
    public async Task What_a_server_would_refuse_is_refused(string words, params string[] flags)
    {
        ToolResult result = await CheckAsync([.. flags.Select(Filled)]);
        Assert.Equal(2, result.ExitCode);
        Assert.StartsWith($"millrace: {Filled(words)}", result.Error, StringComparison.Ordinal);
        Assert.Single(result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.Contains("Would serve", result.Output, StringComparison.Ordinal);
        await AssertDoctorSaysAsync(2, "broken  ", Filled(words), flags);
    }

    [Fact]
    public async Task A_socket_that_is_there_is_no_obstacle()
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(_folder.PathOf("a.sock")));
        ToolResult result = await CheckAsync("--listen", $"unix:{_folder.PathOf("a.sock")}");
        Assert.Equal((0, ""), (result.ExitCode, result.Error));
    }

    [Fact]
    public async Task Mistakes_in_the_sites_own_files_are_named_with_their_folder_and_count()
    {
        _folder.WriteText("site/_redirects", "/a\n");
        File.Copy(_folder.PathOf("site/a.txt"), _folder.PathOf("site/a.txt.br"));
        ToolResult result = await CheckAsync();
        Assert.Equal(2, result.ExitCode);
        Assert.Equal(
            [
                $"millrace: Ignored: {_folder.PathOf("site/_redirects")}:1: The rule for '/a' has no target. Add one, such as /new.",
                $"millrace: /a.txt.br of {_folder.PathOf("site")} is not valid br, so it is not sent for /a.txt. Delete it; 'millrace "
                    + "precompress' makes it again.",
            ],
            result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    [Theory]
    [InlineData("FOLDER/site has no page /app.html, which --spa names: create it, or name another page.", "--spa=/app.html")]
    [InlineData("FOLDER/site has no page /nix.html, which --error-page 404 names: create it, or name another page.", "--error-page", "404=/nix.html")]
    [InlineData("The password file FOLDER/none has no users, so nobody is let in. Add one with 'htpasswd -B FOLDER/none USER'.", "--auth", "FOLDER/none")]
    [InlineData("The folder of the maintenance file FOLDER/no/m does not exist: create it, or name a file in another folder.", "--maintenance", "FOLDER/no/m")]
    [InlineData("The maintenance file FOLDER/site/m is in the root FOLDER/site, so a deployment may create it: name a file outside of the root.", "--maintenance", "FOLDER/site/m")]
    [InlineData("Maintenance of FOLDER/site has begun: every request is answered with 503 while FOLDER/none exists.", "--maintenance", "FOLDER/none")]
    [InlineData("Dictionaries cannot be kept in FOLDER/none/x: a part of its path is not a directory. Name another folder with --dictionary-dir; until then they are in memory only.", "--dictionaries", "--https", "--dictionary-dir", "FOLDER/none/x")]
    public async Task What_has_no_effect_or_a_surprising_one_is_a_warning(string warning, params string[] flags)
    {
        _folder.WriteText("none", "");
        ToolResult result = await CheckAsync([.. flags.Select(Filled)]);
        Assert.Equal((0, $"millrace: warning: {Filled(warning)}\n"), (result.ExitCode, result.Error));
        await AssertDoctorSaysAsync(1, "slower  ", Filled(warning), flags);
    }

    [Fact]
    public async Task Doctor_names_what_is_missing_in_the_sites_of_all_hosts()
    {
        _folder.WriteText("m.json", $$"""{ "hosts": { "a.example": { "root": "{{_folder.PathOf("a")}}", "spa": "/app.html" } } }""");
        string none = _folder.PathOf("none");
        string[] flags = ["--config", _folder.PathOf("m.json")];
        await AssertDoctorSaysAsync(2, "broken  root ", $"The root '{_folder.PathOf("a")}' does not exist. Create it or name another directory.", flags);
        Directory.CreateDirectory(_folder.PathOf("a"));
        await AssertDoctorSaysAsync(1, "slower  root ", $"{_folder.PathOf("a")} has no page /app.html, which spa names", flags);
        await AssertDoctorSaysAsync(
            2, "broken  root ", $"The password file '{none}' does not exist. Create it with 'htpasswd -B -c FILE USER'.", "--auth", none);
    }

    [Fact]
    public async Task A_file_that_hosts_share_is_reported_once_and_missing_folders_each()
    {
        string none = _folder.PathOf("none");
        ToolResult result = await CheckAsync(
            "--auth", none, "--host", $"a.example={_folder.PathOf("a")}", "--host", $"b.example={_folder.PathOf("b")}");
        Assert.Equal(2, result.ExitCode);
        Assert.Equal(
            [
                $"millrace: The password file '{none}' does not exist. Create it with 'htpasswd -B -c FILE USER'.",
                $"millrace: The root '{_folder.PathOf("a")}' does not exist. Create it or name another directory.",
                $"millrace: The root '{_folder.PathOf("b")}' does not exist. Create it or name another directory.",
            ],
            result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    /// <summary>A finding and its remedy are in two lines.</summary>
    private async Task AssertDoctorSaysAsync(int exitCode, string start, string text, params string[] flags)
    {
        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", _folder.PathOf("site"), .. flags.Select(Filled)]);
        string[] sentences = text.TrimEnd('.').Split(". ");
        Assert.Equal(exitCode, doctor.ExitCode);
        string[] lines = doctor.Output.Split('\n');
        int finding = Array.FindIndex(lines, line => line.StartsWith(start, StringComparison.Ordinal)
            && line.Contains(sentences[0], StringComparison.Ordinal));
        Assert.True(finding >= 0, doctor.Output);
        Assert.All(sentences.Skip(1), sentence => Assert.Contains(sentence, lines[finding + 1], StringComparison.Ordinal));
    }

    private string Filled(string text) => text.Replace("FOLDER", _folder.Root, StringComparison.Ordinal);

    private Task<ToolResult> CheckAsync(params string[] flags) =>
        Tool.RunAsync(Publication.Program, ["check", _folder.PathOf("site"), .. flags]);
}
