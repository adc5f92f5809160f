using Millrace.Engine.Backends;
using Millrace.Engine.Backends.IoUring;
using Millrace.Engine.Tests.Unit.Kit;

namespace Millrace.Engine.Tests.Unit;

/// <summary>A ring that is emptied before its time at any moment, calls that bring results at any moment, and few places or many.</summary>
public class EarlyCompletionsTests
{
    private const int Operations = 3;

    [Fact]
    public void No_completion_overtakes_an_earlier_one_of_its_operation_and_all_arrive() => Seeds.ForEach(200, static random =>
    {
        var iterations = new Iterations(random.NextSize(20));
        for (int step = 0; step < 300; step++)
        {
            iterations.Ring(random.Next(0, 4), random.Next(Operations));
            iterations.Call(random.Next(0, 4), random.Next(Operations));
            if (random.Next(4) == 0)
            {
                iterations.EmptyRing();
            }

            if (random.Next(3) > 0)
            {
                iterations.Take();
            }
        }

        while (iterations.Take().Count > 0)
        {
        }

        iterations.ExpectAll();
    });

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(256)]
    public void Neither_waits_for_long_while_the_other_has_more_than_there_are_places(int places) => Seeds.ForEach(50, random =>
    {
        var iterations = new Iterations(places);
        List<bool>? before = null;
        for (int iteration = 0; iteration < 100; iteration++)
        {
            iterations.Ring(places, operation: 0);
            iterations.Call(places, operation: 1);
            if (random.Next(3) == 0)
            {
                iterations.EmptyRing();
            }

            List<bool> taken = iterations.Take();
            Assert.Equal(places, taken.Count);
            if (before is not null)
            {
                // Of two turns half are of either kind.
                Assert.Equal(places, before.Concat(taken).Count(static isOfCall => isOfCall));
                before = null;
            }
            else
            {
                before = taken;
            }
        }
    });

    [Fact]
    public void Places_that_the_ring_leaves_are_filled_with_results()
    {
        var iterations = new Iterations(places: 4);
        iterations.Call(10, operation: 0);
        Assert.Equal(4, iterations.Take().Count);
        iterations.Ring(1, operation: 0);
        Assert.Equal([true, true, false, true], iterations.Take());
    }

    /// <summary>The backend's turn over a ring that is a queue. Completions bear the number that they have in their operation and kind.</summary>
    private sealed class Iterations(int places)
    {
        private readonly EarlyCompletions _early = new();
        private readonly Queue<Completion> _ring = new();
        private readonly Completion[] _places = new Completion[places];
        private readonly int[] _made = new int[Operations * 2];
        private readonly int[] _seen = new int[Operations * 2];

        public void Ring(int count, int operation)
        {
            for (int i = 0; i < count; i++)
            {
                _ring.Enqueue(Next(operation));
            }
        }

        public void Call(int count, int operation)
        {
            for (int i = 0; i < count; i++)
            {
                _early.AddResult(Next(operation + Operations));
            }
        }

        public void EmptyRing()
        {
            while (_ring.TryDequeue(out Completion completion))
            {
                _early.SetAside(completion);
            }
        }

        /// <summary>Which of those that the turn hands over are results of calls.</summary>
        public List<bool> Take()
        {
            int count = _early.TakeBefore(_places);
            while (count < _places.Length && _ring.TryDequeue(out _places[count]))
            {
                count++;
            }

            count += _early.TakeAfter(_places.AsSpan(count));
            foreach (Completion completion in _places[..count])
            {
                Assert.Equal(_seen[completion.Token.Slot]++, completion.Result);
            }

            return [.. _places[..count].Select(static completion => completion.Token.Slot >= Operations)];
        }

        public void ExpectAll()
        {
            Assert.Equal(_made, _seen);
            Assert.True(_early.IsEmpty);
        }

        private Completion Next(int slot) => new() { Token = new OperationToken(OperationKind.Receive, 0, slot), Result = _made[slot]++ };
    }
}
