using Millrace.HttpServer.Http2;

namespace Millrace.HttpServer.Tests.Http2;

public class StreamHistoryTests
{
    private readonly StreamHistory _history = new();

    [Fact]
    public void Numbers_below_the_first_were_passed_over()
    {
        _history.Open(5);

        Assert.Equal(5, _history.LastId);
        Assert.Equal([StreamOutcome.Skipped, StreamOutcome.Skipped, StreamOutcome.Opened], FatesOf(1, 3, 5));
    }

    [Fact]
    public void What_was_opened_passed_over_and_reset_is_distinguished()
    {
        foreach (int id in (int[])[1, 3, 9])
        {
            _history.Open(id);
        }

        _history.NoteReset(3);

        Assert.Equal(
            [StreamOutcome.Opened, StreamOutcome.Reset, StreamOutcome.Skipped, StreamOutcome.Skipped, StreamOutcome.Opened], FatesOf(1, 3, 5, 7, 9));
    }

    [Fact]
    public void Numbers_that_are_far_below_are_forgotten()
    {
        const int Last = (2 * StreamHistory.NumbersKnown) + 3;
        for (int id = 1; id <= Last; id += 2)
        {
            _history.Open(id);
            _history.NoteReset(id);
        }

        // Too late to be noted, and not to be taken for another's.
        _history.NoteReset(3);
        Assert.Equal([StreamOutcome.Forgotten, StreamOutcome.Forgotten, StreamOutcome.Reset, StreamOutcome.Reset], FatesOf(1, 3, 5, Last));
        _history.Open(Last + 2);
        Assert.Equal([StreamOutcome.Forgotten, StreamOutcome.Reset, StreamOutcome.Opened], FatesOf(5, 7, Last + 2));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(StreamHistory.NumbersKnown - 2)]
    [InlineData(StreamHistory.NumbersKnown - 1)]
    [InlineData(StreamHistory.NumbersKnown)]
    [InlineData(1_000_000)]
    public void Numbers_that_are_passed_over_later_lose_what_those_before_them_had(int skipped)
    {
        for (int id = 1; id < 600; id += 2)
        {
            _history.Open(id);
            _history.NoteReset(id);
        }

        int next = 601 + (2 * skipped);
        _history.Open(next);

        for (int id = 1; id < next; id += 2)
        {
            StreamOutcome expected = (next - id) / 2 >= StreamHistory.NumbersKnown ? StreamOutcome.Forgotten
                : id < 600 ? StreamOutcome.Reset
                : StreamOutcome.Skipped;
            Assert.Equal(expected, _history.Of(id));
        }

        Assert.Equal(StreamOutcome.Opened, _history.Of(next));
    }

    [Fact]
    public void The_highest_number_there_is_can_be_opened()
    {
        _history.Open(1);
        _history.Open(int.MaxValue);

        Assert.Equal([StreamOutcome.Forgotten, StreamOutcome.Skipped, StreamOutcome.Opened], FatesOf(1, int.MaxValue - 2, int.MaxValue));
    }

    private IEnumerable<StreamOutcome> FatesOf(params int[] ids) => ids.Select(_history.Of);
}
