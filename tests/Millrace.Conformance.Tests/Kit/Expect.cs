using System.Diagnostics;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>Assertions whose message is what the server did.</summary>
internal static class Expect
{
    /// <summary>
    /// What is not seen by then is lost: nobody looks again by himself. A processor was seen to be gone for two seconds, and what
    /// compresses has the least priority, beside a suite that keeps them busy.
    /// </summary>
    private static readonly TimeSpan SoonMost = TimeSpan.FromMinutes(2);

    public static void That(bool condition, string seen)
    {
        if (!condition)
        {
            throw new Nonconformance(seen);
        }
    }

    public static void Equal<T>(T expected, T actual, string what) =>
        That(EqualityComparer<T>.Default.Equals(expected, actual), $"{what} is {Shown(actual)}, not {Shown(expected)}");

    public static void Bytes(ReadOnlySpan<byte> expected, ReadOnlySpan<byte> actual)
    {
        That(expected.Length == actual.Length, $"a body of {actual.Length} bytes, not {expected.Length}");
        int same = expected.CommonPrefixLength(actual);
        That(same == expected.Length, $"wrong bytes from {same} on");
    }

    /// <summary>For what is awaited: a span does not wait.</summary>
    public static void Same(byte[] expected, byte[] actual) => Bytes(expected, actual);

    /// <summary>Runs all cases and tells of the first that were answered wrong.</summary>
    public static async Task EachAsync(IReadOnlyCollection<string> cases, Func<string, Task> check)
    {
        List<string> wrong = [];
        foreach (string one in cases)
        {
            try
            {
                await check(one);
            }
            catch (Nonconformance failure)
            {
                wrong.Add($"{Printable(one)}: {failure.Message}");
            }
        }

        string count = wrong.Count == 1 ? "" : $"{wrong.Count} of {cases.Count}, first ";
        That(wrong.Count == 0, wrong.Count == 0 ? "" : $"{count}{wrong[0]}\n{string.Join('\n', wrong)}");
    }

    /// <summary>
    /// Asks until the response is right, for things that are to be seen soon rather than at once. How soon is
    /// bench/storm's to say.
    /// </summary>
    public static async Task SoonAsync(Func<Task> check)
    {
        long beganAt = Stopwatch.GetTimestamp();
        for (int asked = 1; ; asked++)
        {
            try
            {
                await check();
                return;
            }
            catch (Nonconformance failure)
            {
                TimeSpan passed = Stopwatch.GetElapsedTime(beganAt);
                That(passed < SoonMost, $"{failure.Message}, after {asked} questions in {passed.TotalSeconds:F1} s");
                await Task.Delay(5, CancellationToken.None);
            }
        }
    }

    public static string Printable(string text) => string.Concat(text.Select(static c => c switch
    {
        '\r' => "\\r",
        '\n' => "\\n",
        '\t' => "\\t",
        < ' ' or >= '\x7f' => $"\\x{(int)c:x2}",
        _ => c.ToString(),
    }));

    private static string Shown<T>(T value) => value is null ? "missing" : Printable(value.ToString()!);
}
