using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Clients which keep a copy in step by asking a plain file server for parts of files.</summary>
public class SyncClientTests
{
    private const int BlockBytes = 2048;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Zsync_updates_an_older_copy_by_fetching_many_ranges_at_once()
    {
        Tool.Require("zsync");
        Tool.Require("zsyncmake");
        using var folder = new TempFolder();
        using var elsewhere = new TempFolder();
        byte[] current = folder.Add("image.bin", 4_000_000);
        File.WriteAllBytes(elsewhere.PathOf("older.bin"), Older(current));
        await Tool.RunToSuccessAsync(
            Deadline, "zsyncmake", "-b", $"{BlockBytes}", "-u", "image.bin", "-o", folder.PathOf("image.bin.zsync"), folder.PathOf("image.bin"));
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        await using var observer = new Observer(server.Url);

        await Tool.RunToSuccessAsync(
            Deadline, "zsync", "-q", "-i", elsewhere.PathOf("older.bin"), "-o", elsewhere.PathOf("copy.bin"), $"{observer.Url}image.bin.zsync");

        Assert.True(File.ReadAllBytes(elsewhere.PathOf("copy.bin")).AsSpan().SequenceEqual(current), "The update is not the file.");
        Exchange[] several = [.. observer.Exchanges.Where(static exchange => exchange.Asked("Range")?.Contains(',', StringComparison.Ordinal) == true)];
        Assert.NotEmpty(several);
        Assert.All(several, static exchange => Assert.Equal(206, exchange.Status));
        Assert.All(several, static exchange => Assert.StartsWith(
            "multipart/byteranges; boundary=", exchange.Reported("Content-Type"), StringComparison.Ordinal));
        long fetchedBytes = observer.Exchanges.Where(static exchange => exchange.Status == 206).Sum(static exchange => exchange.BodyBytes);
        Assert.InRange(fetchedBytes, 1, current.Length / 4);
    }

    [Fact]
    public async Task Git_clones_a_repository_that_is_only_files()
    {
        Tool.Require("git");
        using var folder = new TempFolder();
        using var elsewhere = new TempFolder();
        string head = await MakeRepositoryAsync(folder.PathOf("mill.git"), elsewhere.PathOf("work"));
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        await using var observer = new Observer(server.Url);

        await GitAsync("clone", "-q", $"{observer.Url}mill.git", elsewhere.PathOf("clone"));

        Assert.Equal(head, await GitAsync("-C", elsewhere.PathOf("clone"), "rev-parse", "HEAD"));
        await GitAsync("-C", elsewhere.PathOf("clone"), "fsck", "--strict");
        Assert.Equal(
            File.ReadAllBytes(elsewhere.PathOf("work/wheel.bin")), File.ReadAllBytes(elsewhere.PathOf("clone/wheel.bin")));
        Assert.Contains(observer.Exchanges, static exchange =>
            exchange.Target.EndsWith(".pack", StringComparison.Ordinal) && exchange.Status == 200);
    }

    /// <summary>Every 50th block differs from what is current: more pieces are missing than one request has ranges.</summary>
    private static byte[] Older(byte[] current)
    {
        byte[] older = [.. current];
        for (int i = 0; i < older.Length; i += 50 * BlockBytes)
        {
            older.AsSpan(i, Math.Min(BlockBytes, older.Length - i)).Reverse();
        }

        return older;
    }

    /// <summary>A bare repository with most of its history in a pack and its last commit in loose objects.</summary>
    private static async Task<string> MakeRepositoryAsync(string bare, string work)
    {
        await GitAsync("init", "-q", "--bare", "-b", "main", bare);
        await GitAsync("init", "-q", "-b", "main", work);
        for (int i = 0; i < 20; i++)
        {
            await CommitAsync(work, $"wheel {i}", bytes: 3_000 + (i * 100));
        }

        await GitAsync("-C", work, "push", "-q", bare, "main");
        await GitAsync("-C", bare, "repack", "-adq");
        await CommitAsync(work, "wheel.bin", bytes: 600_000);
        await GitAsync("-C", work, "push", "-q", bare, "main");
        await GitAsync("-C", bare, "update-server-info");
        Assert.NotEmpty(Directory.GetFiles(Path.Combine(bare, "objects", "pack"), "*.pack"));
        return await GitAsync("-C", work, "rev-parse", "HEAD");
    }

    private static async Task CommitAsync(string work, string name, int bytes)
    {
        byte[] content = new byte[bytes];
        for (int i = 0; i < bytes; i++)
        {
            content[i] = (byte)(i * i * name.Length / 7);
        }

        File.WriteAllBytes(Path.Combine(work, name), content);
        await GitAsync("-C", work, "add", name);
        await GitAsync("-C", work, "-c", "user.name=Miller", "-c", "user.email=miller@example.com", "commit", "-q", "-m", name);
    }

    private static Task<string> GitAsync(params string[] arguments) => Tool.RunToSuccessAsync(Deadline, "git", arguments);
}
