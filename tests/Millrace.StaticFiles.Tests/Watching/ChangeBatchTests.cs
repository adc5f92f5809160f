using System.Text;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>When what has changed is read, by a clock that the test turns.</summary>
public class ChangeBatchTests
{
    private static readonly byte[] A = "/a"u8.ToArray();
    private static readonly byte[] B = "/b"u8.ToArray();

    private readonly ChangeBatch _batch = new();

    [Fact]
    public void Without_a_change_there_is_nothing_to_wait_for() => Assert.Equal(-1, _batch.DelayMs(1000));

    [Fact]
    public void A_change_is_due_after_five_quiet_milliseconds()
    {
        _batch.Add(A, 1000);

        Assert.Equal(5, _batch.DelayMs(1000));
        Assert.Equal(1, _batch.DelayMs(1004));
        Assert.Equal(0, _batch.DelayMs(1005));
        Assert.Equal(0, _batch.DelayMs(5000));
    }

    [Fact]
    public void Each_further_change_restarts_the_quiet_time_until_ten_milliseconds_after_the_first()
    {
        for (long nowMs = 1000; nowMs <= 1004; nowMs += 2)
        {
            _batch.Add(A, nowMs);
            Assert.Equal(5, _batch.DelayMs(nowMs));
        }

        _batch.Add(A, 1009);
        Assert.Equal(1, _batch.DelayMs(1009));
        Assert.Equal(0, _batch.DelayMs(1010));
    }

    [Fact]
    public void What_is_taken_names_each_directory_once_and_leaves_nothing()
    {
        _batch.Add(A, 1000);
        _batch.Add(B, 1001);
        _batch.Add("/a"u8.ToArray(), 1002);

        Assert.Equal(["/a: anything", "/b: anything"], Taken());
        Assert.Equal(-1, _batch.DelayMs(1010));
        _batch.Add(B, 2000);
        Assert.Equal(["/b: anything"], Taken());
    }

    [Fact]
    public void Names_are_gathered_by_directory_until_anything_may_have_changed()
    {
        _batch.Add(A, "x"u8, 1000);
        _batch.Add(A, "y"u8, 1001);
        _batch.Add(A, "x"u8, 1002);
        _batch.Add(B, "x"u8, 1003);
        Assert.Equal(["/a: x y", "/b: x"], Taken());

        _batch.Add(A, "x"u8, 2000);
        _batch.Add(A, 2001);
        _batch.Add(A, "y"u8, 2002);
        Assert.Equal(["/a: anything"], Taken());
    }

    [Theory]
    [InlineData(1024, false)]
    [InlineData(1025, true)]
    public void More_names_than_are_worth_it_are_anything(int count, bool isAnything)
    {
        for (int i = 0; i < count; i++)
        {
            _batch.Add(A, Encoding.UTF8.GetBytes($"{i}"), 1000);
        }

        Assert.Equal(isAnything, Assert.Single(_batch.Take()!).Names is null);
    }

    [Fact]
    public void All_covers_every_directory()
    {
        _batch.Add(A, 1000);
        _batch.AddWhole(1000);

        Assert.Null(_batch.Take());
        _batch.Add(B, 2000);
        Assert.Equal(["/b: anything"], Taken());
    }

    [Theory]
    [InlineData(5, 5)]
    [InlineData(400, 400)]
    [InlineData(60_000, 1000)]
    public void After_a_long_read_comes_a_pause_as_long_but_of_a_second_at_most(long readMs, int delayMs)
    {
        _batch.Add(A, 0);
        _ = _batch.Take();
        _batch.Succeeded(0, readMs);
        _batch.Add(B, readMs);

        Assert.Equal(delayMs, _batch.DelayMs(readMs));
    }

    [Theory]
    [InlineData(5, 1000)]
    [InlineData(400, 3600)]
    public void What_failed_is_read_whole_after_a_second_or_in_a_tenth_of_the_time(long readMs, int delayMs)
    {
        _batch.Add(A, 0);
        _ = _batch.Take();
        _batch.Failed(0, readMs);

        Assert.Equal(delayMs, _batch.DelayMs(readMs));
        Assert.Null(_batch.Take());
        Assert.Equal(-1, _batch.DelayMs(readMs));
    }

    [Fact]
    public void What_failed_is_read_whole_at_the_next_change()
    {
        _ = _batch.Take();
        _batch.Failed(0, 5);
        _batch.Add(A, 100);

        Assert.Equal(5, _batch.DelayMs(100));
        Assert.Null(_batch.Take());
    }

    /// <summary>What there is to read, as text and in order.</summary>
    private string[] Taken() =>
    [
        .. _batch.Take()!
            .Select(change => (Path: Encoding.UTF8.GetString(change.Path), Names: change.Names?.Select(Encoding.UTF8.GetString)))
            .OrderBy(change => change.Path, StringComparer.Ordinal)
            .Select(change => $"{change.Path}: {(change.Names is null ? "anything" : string.Join(' ', change.Names.Order(StringComparer.Ordinal)))}"),
    ];
}
