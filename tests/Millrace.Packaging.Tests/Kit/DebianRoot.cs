using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>A fresh Debian in a folder, for one test: the base image as a container whose root is mounted, and programs run by chroot.</summary>
internal sealed class DebianRoot : IAsyncDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(3);

    private static readonly EnumerationOptions All = new() { AttributesToSkip = 0 };

    private readonly string _container;

    private DebianRoot(string container, string folder)
    {
        _container = container;
        Folder = folder;
    }

    public string Folder { get; }

    public static async Task<DebianRoot> MakeAsync()
    {
        await DebianBase.RequireAsync();
        return await MakeAsync(DebianBase.Image);
    }

    public static async Task<DebianRoot> MakeAsync(string image)
    {
        string container = (await Tool.RunToSuccessAsync(Deadline, "buildah", "from", "--pull-never", image)).Trim();
        return new DebianRoot(container, (await Tool.RunToSuccessAsync(Deadline, "buildah", "mount", container)).Trim());
    }

    public string PathOf(string path) => Folder + path;

    public Task<string> RunAsync(string program, params string[] arguments) =>
        Tool.RunToSuccessAsync(Deadline, Chroot.Launcher, Chroot.Arguments(Folder, program, arguments));

    /// <summary>Makes an image of what it is now.</summary>
    public Task CommitAsync(string image) => Tool.RunToSuccessAsync(Deadline, "buildah", "commit", "--quiet", _container, image);

    /// <summary>Installs or upgrades a package of this machine.</summary>
    public async Task InstallAsync(string package)
    {
        string inside = "/" + Path.GetFileName(package);
        File.Copy(package, PathOf(inside));
        await RunAsync("dpkg", "--force-confold", "-i", inside);
        File.Delete(PathOf(inside));
    }

    /// <summary>All that is there, but for what dpkg, useradd and the loader keep for themselves.</summary>
    public string[] List()
    {
        string[] kept =
        [
            "/var/lib/dpkg/", "/var/log/", "/var/cache/", "/etc/ld.so.cache",
            "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/.pwd.lock",
        ];
        return [.. Walk(new DirectoryInfo(Folder))
            .Select(path => path[Folder.Length..])
            .Where(path => !kept.Any(prefix => path.StartsWith(prefix, StringComparison.Ordinal)))
            .Order(StringComparer.Ordinal)];
    }

    /// <summary>Not into links: some lead out of it.</summary>
    private static IEnumerable<string> Walk(DirectoryInfo folder) => folder.EnumerateFileSystemInfos("*", All).SelectMany(static entry =>
        entry is DirectoryInfo { LinkTarget: null } below ? Walk(below).Prepend(entry.FullName) : [entry.FullName]);

    public async ValueTask DisposeAsync() => await Tool.RunToSuccessAsync(Deadline, "buildah", "rm", _container);
}
