using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Documents;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>A Debian that has booted: systemd is its first process, as on any server, and its network is its own (boot.sh).</summary>
internal sealed class SystemdMachine : IAsyncDisposable
{
    /// <summary>Where the operator is, and has what is no package's.</summary>
    public const string ReactorState = "/srv/operator";

    private const string Booted = "Booted ";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(3);

    private static readonly string Tests = Path.Combine(Places.Repository, "tests");

    private static readonly string[] Notes = ["/var/lib/systemd/", "/var/lib/apt/", "/var/lib/logrotate/"];

    private readonly DebianRoot _root;
    private readonly ServerProcess _booted;
    private readonly int _first;

    private SystemdMachine(DebianRoot root, ServerProcess booted)
    {
        _root = root;
        _booted = booted;
        _first = int.Parse(booted.Lines[^1][Booted.Length..], CultureInfo.InvariantCulture);
        Network = new NetworkNamespace(_first);
    }

    public NetworkNamespace Network { get; }

    public static async Task<SystemdMachine> BootAsync()
    {
        await SystemdBase.RequireAsync();
        DebianRoot root = await DebianRoot.MakeAsync(SystemdBase.Image);
        try
        {
            string boot = Path.Combine(Tests, "Millrace.Packaging.Tests", "boot.sh");
            return new SystemdMachine(root, await ServerProcess.StartAsync("unshare", ["--mount", boot, root.Folder], Booted));
        }
        catch
        {
            await root.DisposeAsync();
            throw;
        }
    }

    /// <summary>Where a file of it is, for us. (What it has mounted is not to be seen from here.)</summary>
    public string PathOf(string path) => _root.PathOf(path);

    /// <summary>All its files, but for what systemd, apt and logrotate note for themselves.</summary>
    public string[] List() =>
        [.. _root.List().Where(static path => !Notes.Any(folder => path.StartsWith(folder, StringComparison.Ordinal)))];

    /// <summary>What its root's shell says.</summary>
    public async Task<string> RunAsync(string script)
    {
        // By a file: a script may say what it likes, and its commands have no input.
        Directory.CreateDirectory(PathOf(ReactorState));
        await File.WriteAllTextAsync(PathOf(ReactorState + "/script"), script);
        return await Tool.RunToSuccessAsync(
            Deadline,
            "nsenter", "--target", $"{_first}", "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", $"HOME={ReactorState}",
            "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "bash", "-c", $"cd {ReactorState}; set -euo pipefail; source ./script");
    }

    /// <summary>Does what a section of docs/deployment.md says. The package was built before.</summary>
    public async Task FollowAsync(string title)
    {
        DocumentSection section = DeploymentDocumentTests.Sections().Single(section => section.Title == title);
        await RunAsync($$"""
            {{await File.ReadAllTextAsync(Path.Combine(Tests, "Millrace.Server.Tests", "Documents", "expect.sh"))}}
            deploy/debian/build() { :; }
            apt-get() { command apt-get -y "$@"; }
            stop() { :; }
            {{section.Script()}}
            """);
    }

    /// <summary>Until a command says this.</summary>
    public async Task AwaitAsync(string command, string words)
    {
        using var deadline = new CancellationTokenSource(Deadline);
        while (!(await RunAsync(command)).Contains(words, StringComparison.Ordinal))
        {
            await Task.Delay(TimeSpan.FromMilliseconds(100), deadline.Token);
        }
    }

    /// <summary>A property of a unit.</summary>
    public async Task<string> ShowAsync(string unit, string property) =>
        (await RunAsync($"systemctl show --value --property {property} {unit}")).TrimEnd('\n');

    public async ValueTask DisposeAsync()
    {
        _booted.Signal(PosixSignal.SIGTERM);
        await _booted.ExitCodeAsync();
        await _booted.DisposeAsync();
        await _root.DisposeAsync();
    }
}
