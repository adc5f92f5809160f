using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The Debian package as a file: with a stand-in for the program, since publishing takes a minute.</summary>
public class DebianPackageTests
{
    private const string StandIn = "/bin/true";

    [Fact]
    public async Task It_holds_the_program_its_settings_and_its_papers()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();

        string[] contents = await DebianPackage.ContentsAsync(await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1"));

        Assert.Contains("-rwxr-xr-x root/root /usr/bin/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /etc/default/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /etc/logrotate.d/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/millrace/welcome/index.html", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/doc/millrace/copyright", contents);
        Assert.All(Units, unit => Assert.Contains($"-rw-r--r-- root/root /usr/lib/systemd/system/{unit}", contents));
        Assert.Contains("-rw-r--r-- root/root /usr/share/man/man1/millrace.1.gz", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/bash-completion/completions/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/zsh/vendor-completions/_millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/fish/vendor_completions.d/millrace.fish", contents);
        Assert.All(contents, static entry => Assert.Contains(" root/root /", entry, StringComparison.Ordinal));
    }

    [Fact]
    public async Task It_says_what_it_is_and_what_it_needs()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();

        string package = await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1");

        Assert.Equal("1.2.3-1", await DebianPackage.FieldAsync(package, "Version"));
        Assert.Equal(await ArchitectureAsync(), await DebianPackage.FieldAsync(package, "Architecture"));
        Assert.Contains("libssl3", await DebianPackage.FieldAsync(package, "Depends"), StringComparison.Ordinal);
        Assert.Equal("/etc/default/millrace\n/etc/logrotate.d/millrace", await DebianPackage.SayAsync("--info", package, "conffiles"));
    }

    [Fact]
    public async Task The_same_files_make_the_same_package()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();
        byte[] first = await File.ReadAllBytesAsync(await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1"));

        byte[] second = await File.ReadAllBytesAsync(await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1"));

        Assert.Equal(first, second);
    }

    [Fact]
    public async Task What_is_no_program_is_refused()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();
        await File.WriteAllTextAsync(folder.PathOf("script"), "#!/bin/sh\necho this is no program of any machine\n");

        ToolResult result = await Tool.RunAsync(
            Path.Combine(Places.Repository, "deploy", "debian", "build"), folder.Root, folder.PathOf("script"));

        Assert.NotEqual(0, result.ExitCode);
        Assert.Contains("no program for amd64 or arm64", result.Error, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFiles(folder.Root, "*.deb"));
    }

    /// <summary>The units that are in this repository.</summary>
    internal static string[] Units => Directory.Exists(UnitFolder)
        ? [.. Directory.GetFiles(UnitFolder, "millrace*.*").Select(static path => Path.GetFileName(path)!).Where(static name =>
            name.EndsWith(".service", StringComparison.Ordinal) || name.EndsWith(".socket", StringComparison.Ordinal))]
        : [];

    private static string UnitFolder => Path.Combine(Places.Repository, "deploy", "systemd");

    private static async Task<string> ArchitectureAsync() =>
        (await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "dpkg", "--print-architecture")).Trim();
}
