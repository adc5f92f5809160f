using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Tests.Catalog;

/// <summary>Looks that the answers of a turn share.</summary>
public class TurnLooksTests
{
    private const int Descriptor = 7;

    /// <summary>Whose descriptors have looks that are kept in the same place.</summary>
    private const int Neighbour = Descriptor + 1024;

    private readonly ChangingFiles _files = new();

    [Fact]
    public void A_file_is_looked_at_once_a_turn()
    {
        var looks = new TurnLooks(_files);
        Assert.Equal([1, 1, 1], [SizeAt(looks, 1), SizeAt(looks, 1), SizeAt(looks, 1)]);
        Assert.Equal([2, 2], [SizeAt(looks, 2), SizeAt(looks, 2)]);
    }

    [Fact]
    public void A_look_at_one_file_says_nothing_of_another()
    {
        var looks = new TurnLooks(_files);
        Assert.Equal([1, 2, 3], [SizeAt(looks, 1), SizeAt(looks, 1, Neighbour), SizeAt(looks, 1)]);
    }

    [Fact]
    public void A_look_that_failed_is_tried_again()
    {
        var looks = new TurnLooks(_files);
        _files.Fails = true;
        Assert.Equal(-5, looks.Look(Descriptor, 1, out _));
        _files.Fails = false;
        Assert.Equal(2, SizeAt(looks, 1));
    }

    private static long SizeAt(TurnLooks looks, long turn, int descriptor = Descriptor)
    {
        Assert.Equal(0, looks.Look(descriptor, turn, out FileState state));
        return state.Size;
    }

    /// <summary>Each look sees another size: how many there were.</summary>
    private sealed class ChangingFiles : AssetFiles
    {
        private long _looks;

        public bool Fails { get; set; }

        public override int Look(int descriptor, out FileState state)
        {
            state = new FileState { Size = ++_looks };
            return Fails ? -5 : 0;
        }
    }
}
