using System.Diagnostics;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>What a run did; <see cref="Failure"/> is null where everything held.</summary>
internal sealed record FuzzReport(long Executions, IReadOnlyDictionary<string, long> Outcomes, FuzzFailure? Failure);

/// <summary>An input for which something that must be true is not, as it was found and made as short as it goes.</summary>
internal sealed record FuzzFailure(byte[] Found, byte[] Reduced, Exception Cause);

/// <summary>
/// Runs a target on its corpus, on what it generates and on mutations of both, in an order that the seed alone decides. An input with
/// an outcome that was rare so far joins the pool that mutations start from.
/// </summary>
internal sealed class Fuzzer(FuzzTarget target, int seed, InputLog log)
{
    private const int PerOutcomeMax = 8;
    private const int PoolMax = 4096;

    /// <summary>Beyond its time, while outcomes are missing: much of a short one is the compiler's, and the machine may stand still.</summary>
    private const int OvertimeExecutionsMax = 20_000;

    private readonly Random _random = new(seed);
    private readonly List<byte[]> _pool = [];
    private readonly Dictionary<string, long> _outcomes = [];
    private readonly GuardedMemory _memory = new(2 * target.InputBytesMax);
    private long _executions;

    public FuzzReport Run(TimeSpan time)
    {
        long startedAt = Stopwatch.GetTimestamp();
        FuzzFailure? failure = null;
        var mutator = new Mutator(target, _random);
        foreach (byte[] known in Corpus.Of(target))
        {
            _pool.Add(known);
            failure ??= Try(known);
        }

        while (failure is null && (Stopwatch.GetElapsedTime(startedAt) < time || IsShort()))
        {
            byte[] input = _random.Next(4) == 0
                ? target.Generate(_random)
                : mutator.Mutate(_pool[_random.Next(_pool.Count)], _pool[_random.Next(_pool.Count)]);
            failure = Try(input.Length <= target.InputBytesMax ? input : input[..target.InputBytesMax]);
        }

        log.Clear();
        return new FuzzReport(_executions, _outcomes, failure);
    }

    private bool IsShort() => _outcomes.Count < target.OutcomesMin && _executions < OvertimeExecutionsMax;

    private FuzzFailure? Try(byte[] input)
    {
        if (Execute(input, out string outcome) is Exception cause)
        {
            byte[] reduced = new Reducer(shorter => Execute(shorter, out _)?.GetType() == cause.GetType()).Reduce(input);
            return new FuzzFailure(input, reduced, Execute(reduced, out _) ?? cause);
        }

        long count = _outcomes[outcome] = _outcomes.GetValueOrDefault(outcome) + 1;
        if (count <= PerOutcomeMax && _pool.Count < PoolMax)
        {
            _pool.Add(input);
        }

        return null;
    }

    private Exception? Execute(byte[] input, out string outcome)
    {
        outcome = "";
        log.Write(input);
        try
        {
            // Every other one borders on the guard in front of it.
            _executions++;
            outcome = target.Check(_memory.Copy(input, _executions % 2 == 0 ? Placement.AtStart : Placement.AtEnd));
            return null;
        }
        catch (Exception failure)
        {
            return failure;
        }
    }
}
