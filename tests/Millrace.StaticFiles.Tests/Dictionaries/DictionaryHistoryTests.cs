using Millrace.Interop.Files;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Access;
using Millrace.StaticFiles.Tests.Compression;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Dictionaries;

public sealed class DictionaryHistoryTests : IDisposable
{
    private const string Family = "/assets/app-*.js";

    private readonly DirectoryInfo _parent = Directory.CreateTempSubdirectory("millrace-dictionaries-");
    private readonly ManualTime _clock = new();
    private readonly List<Exception> _failures = [];

    private string Folder => Path.Combine(_parent.FullName, "kept");

    public void Dispose() => _parent.Delete(recursive: true);

    [Fact]
    public void Versions_survive_a_restart_newest_first_and_only_as_many_as_are_wanted()
    {
        DictionaryHistory first = Open(versionsMax: 2);
        for (int version = 1; version <= 5; version++)
        {
            Deploy(first, version);
        }

        Assert.Equal(3, first.CountHeld);

        DictionaryHistory second = Open(versionsMax: 2);
        Assert.Equal([3, 4, 5], Versions(second).Order());
        Deploy(second, 6);
        Assert.Equal([5, 4, 6], Versions(second));
#pragma warning disable CA1416 // Millrace runs only on Linux.
        Assert.All(Directory.GetFiles(Folder), static file =>
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file)));
#pragma warning restore CA1416
        Assert.Equal(3, Directory.GetFiles(Folder).Length);
        Assert.Empty(_failures);
    }

    [Fact]
    public void Without_a_folder_they_are_in_memory_until_the_end()
    {
        var history = new DictionaryHistory(null, 1_000_000, 3, _clock, _failures.Add);
        Deploy(history, 1);
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.Equal(2 * 1000, history.BytesHeld);
    }

    [Fact]
    public void A_file_that_was_cut_or_changed_is_forgotten_when_it_is_read()
    {
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Deploy(history, 2);
        Deploy(history, 3);
        string[] files = [.. history.Of(Family).Select(one => PathOf(one))];
        File.WriteAllBytes(files[0], File.ReadAllBytes(files[0])[..^1]);
        byte[] flipped = File.ReadAllBytes(files[1]);
        flipped[^1] ^= 1;
        File.WriteAllBytes(files[1], flipped);

        DictionaryHistory next = Open();
        Assert.Equal([3], Versions(next));
        Assert.Single(Directory.GetFiles(Folder));
        Assert.Equal(1, next.CountHeld);
    }

    [Fact]
    public void Foreign_files_are_left_alone()
    {
        Deploy(Open(), 1);
        string good = Directory.GetFiles(Folder).Single();
        string[] foreign =
        [
            "notes.txt", new string('0', 64) + "-0123456789abcdef.dict", new string('g', 64) + "-0123456789abcdef.dict", ".dict",
            Path.GetFileName(good).Replace(".dict", ".dict2", StringComparison.Ordinal),
        ];
        foreach (string name in foreign)
        {
            File.WriteAllText(Path.Combine(Folder, name), "millrace dictionary 1 /x\nother");
        }

        File.CreateSymbolicLink(Path.Combine(Folder, new string('1', 64) + "-0123456789abcdef.dict"), "/etc/passwd");
        Directory.CreateDirectory(Path.Combine(Folder, new string('2', 64) + "-0123456789abcdef.dict"));
        DictionaryHistory history = Open();
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.Equal(foreign.Length + 3, Directory.GetFiles(Folder).Length);
        Assert.Empty(_failures);
    }

    [Fact]
    public void Garbage_of_any_kind_is_never_a_dictionary()
    {
        var random = new Random(7);
        Deploy(Open(), 1);
        byte[] good = File.ReadAllBytes(Directory.GetFiles(Folder).Single());
        string goodName = Path.GetFileName(Directory.GetFiles(Folder).Single());
        for (int i = 0; i < 300; i++)
        {
            byte[] changed = [.. good];
            for (int j = random.Next(1, 5); j > 0; j--)
            {
                changed[random.Next(Math.Min(changed.Length, 100))] = (byte)random.Next(256);
            }

            File.WriteAllBytes(Path.Combine(Folder, goodName), changed[..random.Next(changed.Length)]);
            DictionaryHistory history = Open();
            Assert.All(history.Of(Family), one => Assert.Null(history.Read(one)));
            Assert.Empty(history.Of(Family));
        }

        Assert.Empty(_failures);
    }

    [Fact]
    public void A_file_that_was_being_written_when_the_server_was_killed_is_deleted_an_hour_later()
    {
        Deploy(Open(), 1);
        string left = Path.Combine(Folder, "x.dict-new");
        File.WriteAllText(left, "half");
        _ = Open();
        Assert.True(File.Exists(left));

        File.SetLastWriteTimeUtc(left, _clock.GetUtcNow().UtcDateTime - TimeSpan.FromHours(2));
        _ = Open();
        Assert.False(File.Exists(left));
    }

    [Fact]
    public void A_folder_that_is_deleted_meanwhile_is_made_again()
    {
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Directory.Delete(Folder, recursive: true);

        // Until the next look it is believed to be there, and reading shows that it is not.
        Assert.Null(history.Read(history.Of(Family).Single()));
        Deploy(history, 2);
        Assert.Equal([2], Versions(history));
        Assert.Single(Directory.GetFiles(Folder));

        Directory.Delete(Folder, recursive: true);
        _clock.Advance(TimeSpan.FromMinutes(1));
        history.Refresh();
        Assert.Equal(0, history.CountHeld);
        Assert.False(history.MarkCurrent(Family, DictionaryHash.Of(Body(2))));
        Deploy(history, 2);
        Assert.Equal([2], Versions(history));
        Assert.Empty(_failures);
    }

    [Fact]
    public void A_folder_that_cannot_be_written_is_reported_and_memory_is_used()
    {
        File.WriteAllText(Folder, "a file where the folder should be");
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.NotEmpty(_failures);
    }

    [Fact]
    public void A_full_disk_leaves_no_file_and_memory_is_used()
    {
        // A file system of 64 KiB, which a file of the test fills.
        Assert.SkipUnless(Environment.UserName == "root", "Only root mounts a small file system.");
        Directory.CreateDirectory(Folder);
        using var mounted = System.Diagnostics.Process.Start("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", Folder]);
        mounted.WaitForExit();
        Assert.SkipUnless(mounted.ExitCode == 0, "A file system cannot be mounted here.");
        try
        {
            File.WriteAllBytes(Path.Combine(Folder, "full"), new byte[64 * 1024]);
            DictionaryHistory history = Open();
            Deploy(history, 1);
            Deploy(history, 2);

            Assert.Equal([1, 2], Versions(history));
            Assert.NotEmpty(_failures);
            Assert.Single(Directory.GetFiles(Folder));
        }
        finally
        {
            using var unmounted = System.Diagnostics.Process.Start("umount", [Folder]);
            unmounted.WaitForExit();
        }
    }

    [Fact]
    public void The_oldest_make_room_and_what_the_site_has_stays()
    {
        DictionaryHistory history = Open(bytesMax: 2_500, versionsMax: 8);
        Deploy(history, 1);
        Deploy(history, 2);
        Deploy(history, 3);
        Assert.Equal([2, 3], Versions(history));
        Assert.Equal(2_000, history.BytesHeld);

        // Two present files fill it: a third has no place.
        Assert.True(history.TryAdd("/b-*.js", DictionaryHash.Of(Body(10)), Body(10)));
        Assert.False(history.TryAdd("/c-*.js", DictionaryHash.Of(Body(11)), Body(11)));
        Assert.Equal([3], Versions(history));
        Assert.Equal(2, Directory.GetFiles(Folder).Length);
    }

    [Fact]
    public void Two_servers_share_a_folder()
    {
        DictionaryHistory left = Open();
        DictionaryHistory right = Open();
        Deploy(left, 1);
        Deploy(right, 1);
        Deploy(left, 2);
        Assert.Equal([1, 2], Versions(left));

        _clock.Advance(TimeSpan.FromMinutes(1));
        right.Refresh();
        Deploy(right, 2);
        Assert.Equal([1, 2], Versions(right));

        // One deletes what the other believes to have.
        foreach (string file in Directory.GetFiles(Folder))
        {
            File.Delete(file);
        }

        Assert.All(left.Of(Family).ToArray(), one => Assert.Null(left.Read(one)));
        Assert.Empty(_failures);
    }

    [Fact]
    public async Task Two_servers_that_write_and_trim_at_the_same_time_leave_only_whole_files()
    {
        var folderFailures = new System.Collections.Concurrent.ConcurrentQueue<Exception>();
        await Task.WhenAll(Enumerable.Range(0, 4).Select(server => Task.Run(() =>
        {
            var history = new DictionaryHistory(new DictionaryFolder(Folder), 20_000, 2, new ManualTime(), folderFailures.Enqueue);
            for (int version = 1; version < 100; version++)
            {
                Deploy(history, version);
            }
        })));

        DictionaryHistory all = Open();
        Assert.NotEmpty(all.Of(Family));
        Assert.All(all.Of(Family), one => Assert.NotNull(all.Read(one)));
        Assert.DoesNotContain(Directory.GetFiles(Folder), static file => file.EndsWith("-new", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(5)]
    [InlineData(12)]
    [InlineData(23)]
    [InlineData(24)]
    public void An_error_that_says_nothing_about_a_file_does_not_delete_it(int errno)
    {
        Deploy(Open(), 1);
        bool fails = true;
        var folder = new DictionaryFolder(Folder)
        {
            Open = (path, flags) => fails && Present > 0 ? -errno : FileContent.Open(path, flags),
        };
        var history = new DictionaryHistory(folder, 1_000_000, 3, _clock, _failures.Add);
        fails = false;
        history.Refresh();
        StoredDictionary one = history.Of(Family).Single();
        fails = true;
        Assert.Null(history.Read(one));
        Assert.True(history.Contains(Family, one.Hash));
        Assert.Single(Directory.GetFiles(Folder));
        Assert.Single(_failures);

        fails = false;
        Assert.Equal(Body(1), history.Read(one));
    }

    [Fact]
    public void A_read_that_fails_does_not_delete_the_file()
    {
        Deploy(Open(), 1);
        bool fails = false;

        // A descriptor that is open for writing cannot be read.
        var folder = new DictionaryFolder(Folder)
        {
            Open = (path, flags) => FileContent.Open(path, fails ? flags | OpenFlags.WriteOnly : flags),
        };
        var history = new DictionaryHistory(folder, 1_000_000, 3, _clock, _failures.Add);
        history.Refresh();
        fails = true;
        Assert.Null(history.Read(history.Of(Family).Single()));
        Assert.Equal(1, history.CountHeld);
        Assert.Single(Directory.GetFiles(Folder));
        fails = false;
        Assert.Equal(Body(1), history.Read(history.Of(Family).Single()));
    }

    [Fact]
    public async Task What_is_not_a_regular_file_of_this_user_is_ignored_and_never_waited_for()
    {
        Deploy(Open(), 1);
        StoredDictionary known = Open().Of(Family).Single();
        string name = Path.GetFileName(PathOf(known));
        string other = Path.Combine(_parent.FullName, "other");
        File.Copy(PathOf(known), other);
        foreach (Action put in (Action[])[
            () => Assert.Equal(0, TestCalls.MakeFifo(Path.Combine(Folder, name), 0x180)),
            () => File.CreateSymbolicLink(Path.Combine(Folder, name), other),
            () => Directory.CreateDirectory(Path.Combine(Folder, name))])
        {
            File.Delete(PathOf(known));
            put();
            await Task.Run(() =>
            {
                DictionaryHistory history = Open();
                Assert.Empty(history.Of(Family));
                Assert.Null(new DictionaryFolder(Folder).Read(known));
            }).WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
            Assert.Single(Directory.GetFileSystemEntries(Folder));
        }

        Assert.Empty(_failures);
    }

    [Fact]
    public void A_file_of_another_user_is_ignored()
    {
        Assert.SkipUnless(Environment.UserName == "root", "Only root gives files away.");
        Deploy(Open(), 1);
        string file = Directory.GetFiles(Folder).Single();
        using (var given = System.Diagnostics.Process.Start("chown", ["65534", file]))
        {
            given.WaitForExit();
            Assert.Equal(0, given.ExitCode);
        }

        DictionaryHistory history = Open();
        Assert.Empty(history.Of(Family));
        Assert.True(File.Exists(file));
    }

    [Theory]
    [InlineData("0777", "0700")]
    [InlineData("0770", "0700")]
    [InlineData("2770", "0700")]
    [InlineData("1777", "1777")]
    [InlineData("0755", "0755")]
    public void A_folder_of_this_user_that_others_may_write_is_made_private_again(string mode, string after)
    {
        // Kubernetes lets a group write all of a volume at each mount.
        Deploy(Open(), 1);
        Assert.Equal(0, TestCalls.ChangeMode(Folder, Convert.ToUInt32(mode, 8)));
        DictionaryHistory history = Open();
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.Equal(2, Directory.GetFiles(Folder).Length);
#pragma warning disable CA1416 // Millrace runs only on Linux.
        Assert.Equal((UnixFileMode)Convert.ToInt32(after, 8), File.GetUnixFileMode(Folder));
#pragma warning restore CA1416
        Assert.Empty(_failures);
    }

    [Fact]
    public void A_link_to_a_folder_that_others_may_write_is_reported_and_memory_is_used()
    {
        string other = Path.Combine(_parent.FullName, "other");
        Directory.CreateDirectory(other);
        Directory.CreateSymbolicLink(Folder, other);
        Assert.Equal(0, TestCalls.ChangeMode(other, 0x1ff));
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.Empty(Directory.GetFiles(other));
        Assert.NotEmpty(_failures);
        Assert.All(_failures, static one => Assert.Contains("chmod go-w", one.Message, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(5)]
    [InlineData(9 * 1024 * 1024)]
    [InlineData(1024L * 1024 * 1024 * 1024)]
    public void A_file_that_is_too_short_or_too_long_for_any_dictionary_is_deleted(long bytes)
    {
        DictionaryHistory running = Open();
        Deploy(running, 1);
        StoredDictionary known = running.Of(Family).Single();
        using (FileStream stream = File.OpenWrite(PathOf(known)))
        {
            stream.SetLength(bytes);
        }

        _clock.Advance(TimeSpan.FromMinutes(1));
        running.Refresh();
        Assert.Equal((0, 0), (running.CountHeld, running.BytesHeld));
        Assert.Empty(Directory.GetFiles(Folder));

        // One that changes after it was listed takes no memory by its size.
        Deploy(running, 2);
        Assert.Null(new DictionaryFolder(Folder).Read(running.Of(Family).Single() with { Bytes = long.MaxValue / 2 }));
        Assert.Empty(Directory.GetFiles(Folder));
        Assert.Empty(_failures);
    }

    [Fact]
    public void A_deployment_that_the_folder_takes_ends_a_failure_and_one_without_files_does_not()
    {
        int successes = 0;
        File.WriteAllText(Folder, "a file where the folder should be");
        var history = new DictionaryHistory(new DictionaryFolder(Folder), 1_000_000, 3, _clock, _failures.Add)
        {
            FolderSucceeded = () => successes++,
        };
        Deploy(history, 1);
        Assert.Equal((1, 0), (_failures.Count, successes));
        Deploy(history, 1);
        Assert.Equal((1, 0), (_failures.Count, successes));
        File.Delete(Folder);
        Deploy(history, 2);
        Assert.Equal((1, 1), (_failures.Count, successes));
    }

    [Fact]
    public void The_number_of_files_is_bounded_whoever_wrote_them()
    {
        // Those of other servers, and of an earlier limit.
        DictionaryHistory before = Open();
        for (int i = 0; i < 20; i++)
        {
            Add(before, i);
        }

        Assert.Equal(20, Directory.GetFiles(Folder).Length);
        DictionaryHistory history = Open(filesMax: 8);
        Assert.Equal(8, history.CountHeld);
        Assert.Equal(8, Directory.GetFiles(Folder).Length);

        // The last seen are left, and new ones take the place of the longest gone.
        Assert.True(history.Contains("/19-*.js", DictionaryHash.Of(Body(19))));
        Assert.False(history.Contains("/11-*.js", DictionaryHash.Of(Body(11))));
        Add(history, 30);
        Assert.Equal(8, history.CountHeld);
        Assert.Equal(8, Directory.GetFiles(Folder).Length);
        Assert.False(history.Contains("/12-*.js", DictionaryHash.Of(Body(12))));
        for (int i = 31; i < 38; i++)
        {
            Assert.True(history.TryAdd($"/{i}-*.js", DictionaryHash.Of(Body(i)), Body(i)));
        }

        Assert.True(history.MarkCurrent("/30-*.js", DictionaryHash.Of(Body(30))));
        Assert.False(history.TryAdd("/40-*.js", DictionaryHash.Of(Body(40)), Body(40)));
    }

    [Fact]
    public void A_smaller_size_trims_the_folder_also_of_files_that_the_site_has()
    {
        DictionaryHistory before = Open();
        for (int i = 0; i < 10; i++)
        {
            Add(before, i);
        }

        DictionaryHistory history = Open(bytesMax: 3_500);
        var current = new HashSet<(string, DictionaryHash)>();
        for (int i = 8; i < 10; i++)
        {
            Assert.True(history.MarkCurrent($"/{i}-*.js", DictionaryHash.Of(Body(i))));
            current.Add(($"/{i}-*.js", DictionaryHash.Of(Body(i))));
        }

        history.Retire(current);
        Assert.Equal((3_000, 3), (history.BytesHeld, history.CountHeld));
        Assert.Equal(3, Directory.GetFiles(Folder).Length);
        Assert.All(current, one => Assert.True(history.Contains(one.Item1, one.Item2)));

        DictionaryHistory least = Open(bytesMax: 1_500);
        Assert.All(current, one => Assert.True(least.MarkCurrent(one.Item1, one.Item2)));
        least.Retire(current);
        Assert.Equal(1_000, least.BytesHeld);
        Assert.Single(Directory.GetFiles(Folder));
        Assert.Empty(_failures);
    }

    private int Present => Directory.Exists(Folder) ? Directory.GetFiles(Folder).Length : 0;

    /// <summary>Adds a file of a family of its own, which the site then has no more.</summary>
    private void Add(DictionaryHistory history, int version)
    {
        _clock.Advance(TimeSpan.FromSeconds(10));
        Assert.True(history.TryAdd($"/{version}-*.js", DictionaryHash.Of(Body(version)), Body(version)));
        history.Retire(new HashSet<(string, DictionaryHash)>());
    }

    private static byte[] Body(int version) => TestText.Of(1000, version);

    private DictionaryHistory Open(long bytesMax = 1_000_000, int versionsMax = 3, int filesMax = DictionaryHistory.FilesMax)
    {
        var history = new DictionaryHistory(new DictionaryFolder(Folder), bytesMax, versionsMax, _clock, _failures.Add, filesMax);
        history.Refresh();
        return history;
    }

    /// <summary>Makes a version the only file of the family, as a deployment does.</summary>
    private void Deploy(DictionaryHistory history, int version)
    {
        _clock.Advance(TimeSpan.FromSeconds(10));
        byte[] body = Body(version);
        var hash = DictionaryHash.Of(body);
        Assert.True(history.TryAdd(Family, hash, body));
        history.Retire(new HashSet<(string, DictionaryHash)> { (Family, hash) });
    }

    private static int[] Versions(DictionaryHistory history)
    {
        StoredDictionary[] all = [.. history.Of(Family)];
        return
        [
            .. from one in all
               let bytes = history.Read(one)
               where bytes is not null
               select Enumerable.Range(1, 120).Single(version => Body(version).SequenceEqual(bytes)),
        ];
    }

    private string PathOf(StoredDictionary one) => Path.Combine(Folder, DictionaryFolder.NameOf(one.Family, one.Hash));
}
