using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Tests.Catalog;

public class PathTableTests
{
    [Fact]
    public void It_finds_what_a_dictionary_finds_for_any_bytes()
    {
        // Few letters and short paths: many share prefixes, lengths and tails, and one in two is looked up without having been added.
        Gen<byte[]> path = Gen.ArrayOf(Gen.Elements((byte)'/', (byte)'a', (byte)'b', (byte)0xff))
            .Or(Gen.ArrayOf(Gen.Choose(1, 255).Select(value => (byte)value)));
        Arbitrary<(byte[][] Added, byte[][] Asked)> cases =
            Gen.Two(Gen.ArrayOf(path)).Select(pair => (pair.Item1, pair.Item2)).ToArbitrary();

        Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(1000).WithQuietOnSuccess(true),
            Prop.ForAll(cases, paths => AgreesWithDictionary(paths.Added, paths.Asked)));
    }

    [Fact]
    public void It_finds_each_of_many_paths_that_differ_in_one_byte_of_any_length()
    {
        var added = new List<byte[]>();
        for (int length = 1; length <= 70; length++)
        {
            for (int position = 0; position < length; position++)
            {
                byte[] path = new byte[length];
                Array.Fill(path, (byte)'x');
                path[position] = (byte)'y';
                added.Add(path);
            }
        }

        Assert.True(AgreesWithDictionary([.. added], [.. added.Select(path => path.Append((byte)'x').ToArray())]));
    }

    [Fact]
    public void It_tells_paths_of_the_same_slot_and_tag_apart()
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
                Assert.True(AgreesWithDictionary([seen[slotAndTag]], [path]));
                Assert.True(AgreesWithDictionary([seen[slotAndTag], path], []));
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
        var table = new PathTable();
        int first = table.Add("/a/b.txt"u8, PathKind.File);
        table.Add("/c"u8, PathKind.Directory);
        table.Trim();

        Assert.Equal("a/b.txt\0"u8, table.RelativePathZAt(first));
        Assert.Equal("/a/b.txt"u8, table.PathAt(first));
    }

    private static bool IsAt(PathTable table, int index, byte[] path) =>
        table.PathAt(index).SequenceEqual(path) && table.KindAt(index) == KindFor(path);

    private static PathKind KindFor(byte[] path) => (PathKind)(path.Length % 2);

    private static bool AgreesWithDictionary(byte[][] added, byte[][] asked)
    {
        var table = new PathTable();
        var dictionary = new Dictionary<string, int>();
        foreach (byte[] path in added)
        {
            bool isNew = dictionary.TryAdd(Convert.ToHexString(path), dictionary.Count);
            int index = table.Add(path, KindFor(path));
            if (isNew != (index != PathTable.Missing))
            {
                return false;
            }
        }

        table.Trim();
        return table.Count == dictionary.Count && added.Concat(asked).All(path =>
        {
            int expected = dictionary.GetValueOrDefault(Convert.ToHexString(path), PathTable.Missing);
            return table.Find(path) == expected && (expected == PathTable.Missing || IsAt(table, expected, path));
        });
    }
}
