using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Snapshots;

public class DirectoryTableTests
{
    [Fact]
    public void It_finds_what_a_dictionary_finds_for_any_bytes_after_any_changes()
    {
        // Few letters and short paths: many share prefixes, lengths and tails, and one in two is looked up without having been added.
        Gen<byte[]> path = Gen.ArrayOf(Gen.Elements((byte)'/', (byte)'a', (byte)'b', (byte)0xff))
            .Or(Gen.ArrayOf(Gen.Choose(1, 255).Select(value => (byte)value)))
            .Select(bytes => bytes.Length == 0 ? bytes : [(byte)'/', .. bytes]);
        Gen<Change> change = Gen.Two(Gen.ArrayOf(path)).Select(pair => new Change(pair.Item1, pair.Item2));
        Arbitrary<(Change[] Changes, byte[][] Asked)> cases =
            Gen.ArrayOf(change).SelectMany(changes => Gen.ArrayOf(path).Select(asked => (changes, asked))).ToArbitrary();

        Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(500).WithQuietOnSuccess(true),
            Prop.ForAll(cases, tried => AgreesWithDictionary(tried.Changes, tried.Asked)));
    }

    [Fact]
    public void It_finds_each_of_many_paths_that_differ_in_one_byte_of_any_length()
    {
        var added = new List<byte[]>();
        for (int length = 1; length <= 70; length++)
        {
            for (int position = 0; position < length; position++)
            {
                byte[] path = new byte[length + 1];
                Array.Fill(path, (byte)'x');
                path[0] = (byte)'/';
                path[position + 1] = (byte)'y';
                added.Add(path);
            }
        }

        Assert.True(AgreesWithDictionary([new Change([.. added], [])], [.. added.Select(path => path.Append((byte)'x').ToArray())]));
    }

    [Fact]
    public void Paths_of_the_same_slot_and_tag_are_distinguished()
    {
        // 32 bits of tag and 4 of slot: among 2^20 paths some eight pairs agree in all of them.
        var seen = new Dictionary<ulong, byte[]>();
        int pairs = 0;
        for (int i = 0; i < 1 << 20; i++)
        {
            byte[] path = Encoding.ASCII.GetBytes($"/{i}");
            ulong hash = PathHash.Of(path);
            ulong slotAndTag = hash & 0xffff_ffff_0000_000f;
            if (!seen.TryAdd(slotAndTag, path))
            {
                pairs++;
                Assert.True(AgreesWithDictionary([new Change([seen[slotAndTag]], [])], [path]));
                Assert.True(AgreesWithDictionary([new Change([seen[slotAndTag], path], [])], []));
            }
        }

        Assert.True(pairs > 0, "no pair agrees, nothing was proven");
    }

    [Theory]
    [InlineData("/", "")]
    [InlineData("/a", "")]
    [InlineData("/abcdef", "")]
    [InlineData("/abc", "defg")]
    [InlineData("", "/abcdefg")]
    [InlineData("", "/abcdefghijk")]
    [InlineData("/assets/chunk-", ".js")]
    [InlineData("/assets/chunk-", "/and/a/rather/long/way/down/to/the/file.html")]
    [InlineData("/and/a/rather/long/way/down/to/the/file/", "")]
    public void The_hash_spreads_paths_evenly(string before, string after)
    {
        // 2^16 paths over 2^12 cells: 16 each. A cell of a fair hash holds more than 48 less than once in 10^10.
        int[] low = new int[4096];
        int[] high = new int[4096];
        for (int i = 0; i < 65536; i++)
        {
            ulong hash = PathHash.Of(Encoding.ASCII.GetBytes($"{before}{i:x4}{after}"));
            low[hash & 4095]++;
            high[hash >> 52]++;
        }

        Assert.InRange(low.Max(), 0, 48);
        Assert.InRange(high.Max(), 0, 48);
    }

    [Fact]
    public void A_relative_path_is_what_the_kernel_takes()
    {
        Assert.True(SitePath.Root.TryAppend("a"u8, out SitePath directory));
        Assert.True(directory.TryAppend("b.txt"u8, out SitePath file));

        Assert.Equal("a/b.txt\0"u8, file.RelativeZ);
        Assert.Equal(".\0"u8, SitePath.Root.RelativeZ);
        Assert.Equal("/a/b.txt"u8, file.Bytes);
        Assert.Equal("b.txt"u8, file.Name);
        Assert.Equal("/a"u8, file.Parent);
        Assert.True(directory.Parent.IsEmpty);
    }

    /// <summary>Directories that are listed, again or for the first time, and such that leave, also ones that are not there.</summary>
    private sealed record Change(byte[][] Listed, byte[][] Left);

    private static bool AgreesWithDictionary(Change[] changes, byte[][] asked)
    {
        DirectoryTable table = DirectoryTable.Empty;
        var dictionary = new Dictionary<SitePath, SiteDirectory>();
        foreach (Change change in changes)
        {
            var left = change.Left.Select(path => SitePath.Of(path)).ToHashSet();
            SiteDirectory[] listed = [.. change.Listed.Select(path => SitePath.Of(path)).Where(path => !left.Contains(path)).Distinct().Select(Empty)];
            foreach (SitePath path in left)
            {
                dictionary.Remove(path);
            }

            foreach (SiteDirectory directory in listed)
            {
                dictionary[directory.SitePath] = directory;
            }

            DirectoryTable before = table;
            int countBefore = before.Directories.Length;
            table = before.With(listed, left);
            if (before.Directories.Length != countBefore)
            {
                return false;
            }
        }

        IEnumerable<byte[]> all = changes.SelectMany(change => change.Listed.Concat(change.Left)).Concat(asked);
        return table.Directories.Length == dictionary.Count
            && all.All(path => table.Find(path) == dictionary.GetValueOrDefault(SitePath.Of(path)));
    }

    private static SiteDirectory Empty(SitePath path) =>
        new(path, default, [], [])
        {
            IsComplete = true,
            IsSettled = true,
            HasSymlinks = false,
            Index = null,
            EntryCount = 0,
            SkippedCount = 0,
        };
}
