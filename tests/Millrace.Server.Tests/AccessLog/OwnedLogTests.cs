using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.AccessLog;

/// <summary>Whose the access log is where root starts the program and somebody else serves.</summary>
[SupportedOSPlatform("linux")]
public sealed class OwnedLogTests : IDisposable
{
    private const string Root = "0:0";
    private const PosixSignal User1 = (PosixSignal)10;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempFolder _folder = new();

    public OwnedLogTests()
    {
        File.SetUnixFileMode(_folder.Root, Nobody.ForAll);
        Directory.CreateDirectory(_folder.PathOf("site"), Nobody.ForAll);
        Directory.CreateDirectory(_folder.PathOf("logs"), Nobody.ForAll);
    }

    private string LogPath => _folder.PathOf("logs/access.log");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_log_that_is_made_is_the_users_and_is_reopened_renamed_or_not()
    {
        Nobody.RequireRoot();
        await GiveAsync(Nobody.UserAndGroup, _folder.PathOf("logs"));
        Assert.Equal("", (await CheckAsync(LogPath)).Error);
        await using ServerProcess server = await StartAsync(LogPath);
        Assert.Equal(Nobody.UserAndGroup, await OwnerOfAsync(LogPath));
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead, File.GetUnixFileMode(LogPath));
        server.Signal(User1);
        await server.AwaitErrorAsync("was reopened");

        Assert.Equal(404, Wire.Get(server.Url, "/first").Status);
        await AwaitLineAsync(LogPath, "/first");
        File.Move(LogPath, $"{LogPath}.1");
        server.Signal(User1);
        await server.AwaitErrorAsync("was reopened", times: 2);
        Assert.Equal(404, Wire.Get(server.Url, "/second").Status);
        await AwaitLineAsync(LogPath, "/second");
        Assert.Equal(Nobody.UserAndGroup, await OwnerOfAsync(LogPath));
        string said = await StopAsync(server);
        Assert.DoesNotContain("Reopening the access log", said, StringComparison.Ordinal);
        Assert.DoesNotContain("/second", File.ReadAllText($"{LogPath}.1"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task In_a_folder_that_the_user_may_not_write_that_is_said_before_a_rotation_finds_out()
    {
        Nobody.RequireRoot();
        string remedy = $"Make {_folder.PathOf("logs")} writable for the user or its group, so that a new log can be created there after rotation.";
        ToolResult check = await CheckAsync(LogPath);
        Assert.Equal(0, check.ExitCode);
        Assert.Contains($"{LogPath} cannot be reopened on SIGUSR1", check.Error, StringComparison.Ordinal);
        Assert.EndsWith($": this user has no permission. {remedy}\n", check.Error, StringComparison.Ordinal);

        await using ServerProcess server = await StartAsync(LogPath);
        await server.AwaitErrorAsync($"{LogPath} cannot be reopened on SIGUSR1");
        await server.AwaitErrorAsync(remedy);
        Assert.Equal(Nobody.UserAndGroup, await OwnerOfAsync(LogPath));
        server.Signal(User1);
        await server.AwaitErrorAsync("was reopened");
        File.Move(LogPath, $"{LogPath}.1");
        server.Signal(User1);
        await server.AwaitErrorAsync($"Reopening the access log at {LogPath} failed");
        Assert.Equal(404, Wire.Get(server.Url, "/none").Status);
        await AwaitLineAsync($"{LogPath}.1", "/none");
    }

    [Theory]
    [InlineData("logs/access.log")]
    [InlineData("to-file/access.log")]
    [InlineData("to-folder/access.log")]
    public async Task What_was_there_before_and_what_a_symlink_leads_to_is_not_given_away(string log)
    {
        Nobody.RequireRoot();
        string[] owned = ["logs/access.log", "secret/access.log", "secret/made.log"];
        Directory.CreateDirectory(_folder.PathOf("secret"), UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        Directory.CreateDirectory(_folder.PathOf("to-file"), Nobody.ForAll);
        File.CreateSymbolicLink(_folder.PathOf("to-file/access.log"), _folder.PathOf("secret/made.log"));
        Directory.CreateSymbolicLink(_folder.PathOf("to-folder"), _folder.PathOf("secret"));
        File.WriteAllText(LogPath, "");
        await using ServerProcess server = await StartAsync(_folder.PathOf(log));
        Assert.Equal(404, Wire.Get(server.Url, "/none").Status);
        await StopAsync(server);

        string[] there = [.. owned.Select(_folder.PathOf).Where(File.Exists)];
        Assert.Single(there, static path => File.ReadAllText(path).Contains("/none", StringComparison.Ordinal));
        foreach (string path in there)
        {
            Assert.Equal(Root, await OwnerOfAsync(path));
        }
    }

    private static Task<string> GiveAsync(string owner, string path) => Tool.RunToSuccessAsync(Patience, "chown", owner, path);

    private static async Task<string> OwnerOfAsync(string path) =>
        (await Tool.RunToSuccessAsync(Patience, "stat", "--format=%u:%g", path)).TrimEnd('\n');

    private static async Task AwaitLineAsync(string path, string words)
    {
        using var deadline = new CancellationTokenSource(Patience);
        while (!File.ReadAllText(path).Contains(words, StringComparison.Ordinal))
        {
            await Task.Delay(5, deadline.Token);
        }
    }

    private static async Task<string> StopAsync(ServerProcess server)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        return await server.ErrorAsync();
    }

    private Task<ServerProcess> StartAsync(string log) =>
        ServerProcess.StartAsync(_folder.PathOf("site"), "--listen", "127.0.0.1:0", "--user", Nobody.UserAndGroup, "--access-log", log);

    private Task<ToolResult> CheckAsync(string log) =>
        Tool.RunAsync(Publication.Program, "check", _folder.PathOf("site"), "--user", Nobody.UserAndGroup, "--access-log", log);
}
