using System.Runtime.CompilerServices;
using Millrace.Engine.Connections;

namespace Millrace.Engine.Tests.Unit;

/// <summary>What a connection touches beside itself. That it is asked for in time is seen in benchmarks only.</summary>
public sealed class PrefetchSetTests
{
    private static readonly PrefetchRange Some = new(After: 100, Before: 50);

    [Fact]
    public void What_is_beyond_the_most_is_left_out()
    {
        var prefetch = new PrefetchSet();
        for (int i = 0; i < PrefetchSet.PartsMax + 3; i++)
        {
            prefetch.Add(new object(), Some, CompletionKinds.Either);
        }

        prefetch.Prefetch(CompletionKinds.Received);
        prefetch.Prefetch(CompletionKinds.Sent);
        Assert.Equal(PrefetchSet.PartsMax, prefetch.Count);
    }

    [Theory]
    [InlineData(4096, 64, 0, 4096, 4160)]
    [InlineData(4100, 60, 0, 4096, 4160)]
    [InlineData(4100, 61, 0, 4096, 4161)]
    [InlineData(4100, 8, 4, 4096, 4108)]
    [InlineData(4100, 8, 5, 4032, 4108)]
    [InlineData(4096, 0, 200, 3840, 4096)]
    public void Lines_are_of_what_is_in_front_and_what_is_behind(int beginning, int behind, int before, int first, int end) =>
        Assert.Equal(((nuint)first, (nuint)end), new PrefetchRange((ushort)behind, (ushort)before).LinesAround((nuint)beginning));

    /// <summary>An object is smaller than what is asked for, and lies at an end of what is mapped for all that anybody knows.</summary>
    [Fact]
    public void Asking_for_more_than_there_is_harms_nothing() =>
        PrefetchSet.Prefetch(new object(), new PrefetchRange(After: ushort.MaxValue, Before: ushort.MaxValue));

    [Fact]
    public void What_was_cleared_is_held_no_more()
    {
        var prefetch = new PrefetchSet();
        WeakReference part = AddTo(ref prefetch);
        GC.Collect();
        Assert.True(part.IsAlive);

        prefetch.Clear();
        GC.Collect();
        Assert.False(part.IsAlive);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference AddTo(ref PrefetchSet prefetch)
    {
        object part = new();
        prefetch.Add(part, Some, CompletionKinds.Received);
        return new WeakReference(part);
    }
}
