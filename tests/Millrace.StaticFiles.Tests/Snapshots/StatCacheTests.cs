using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Looks that the answers of a turn share.</summary>
public class StatCacheTests
{
    private const int Descriptor = 7;

    /// <summary>Whose descriptors have looks that are kept in the same place.</summary>
    private const int Neighbour = Descriptor + 1024;

    private readonly ChangingFiles _files = new();

    [Fact]
    public void A_file_is_looked_at_once_a_turn()
    {
        var checks = new StatCache(_files);
        Assert.Equal([1, 1, 1], [SizeAt(checks, 1), SizeAt(checks, 1), SizeAt(checks, 1)]);
        Assert.Equal([2, 2], [SizeAt(checks, 2), SizeAt(checks, 2)]);
    }

    [Fact]
    public void A_look_at_one_file_says_nothing_of_another()
    {
        var checks = new StatCache(_files);
        Assert.Equal([1, 2, 3], [SizeAt(checks, 1), SizeAt(checks, 1, Neighbour), SizeAt(checks, 1)]);
    }

    [Fact]
    public void A_look_that_failed_is_tried_again()
    {
        var checks = new StatCache(_files);
        _files.Fails = true;
        Assert.Equal(-5, checks.Stat(Descriptor, 1, out _));
        _files.Fails = false;
        Assert.Equal(2, SizeAt(checks, 1));
    }

    private static long SizeAt(StatCache checks, long iteration, int descriptor = Descriptor)
    {
        Assert.Equal(0, checks.Stat(descriptor, iteration, out FileState state));
        return state.Size;
    }

    /// <summary>Each look sees another size: how many there were.</summary>
    private sealed class ChangingFiles : AssetFiles
    {
        private long _checks;

        public bool Fails { get; set; }

        public override int Stat(int descriptor, out FileState state)
        {
            state = new FileState { Size = ++_checks };
            return Fails ? -5 : 0;
        }
    }
}
