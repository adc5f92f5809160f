namespace Millrace.Server.Tests.Kit;

/// <summary>A file system with little room, in memory; skips the test where none may be mounted.</summary>
internal sealed class SmallDisk : IDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly string _root;

    private SmallDisk(string root) => _root = root;

    public static async Task<SmallDisk> MountAsync(TempFolder folder, int kib)
    {
        string root = Directory.CreateDirectory(folder.PathOf("disk")).FullName;
        ToolResult result = await Tool.RunAsync("mount", "-t", "tmpfs", "-o", $"size={kib}k", "tmpfs", root);
        Assert.SkipUnless(result.ExitCode == 0, $"No small disk can be mounted: {result.Error}");
        return new SmallDisk(root);
    }

    public string PathOf(string name) => Path.Combine(_root, name);

    public void Dispose() => Assert.Equal(0, Tool.RunAsync("umount", _root).WaitAsync(Deadline).GetAwaiter().GetResult().ExitCode);
}
