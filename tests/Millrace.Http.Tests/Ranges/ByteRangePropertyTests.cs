namespace Millrace.Http.Tests;

public class ByteRangePropertyTests
{
    [Fact]
    public void Every_set_of_one_range_agrees_with_the_reference()
        => Compare(Specs(14).Append("").Append("x").Append("-"), sizesMax: 12);

    [Fact]
    [Trait("Duration", "Full")]
    public void Every_set_of_two_small_ranges_agrees_with_the_reference()
    {
        string[] specs = [.. Specs(13), "x", ""];
        Compare(from one in specs from other in specs select $"{one},{other}", sizesMax: 12);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void Every_set_of_three_tiny_ranges_agrees_with_the_reference()
    {
        string[] specs = [.. Specs(5)];
        Compare(from one in specs from other in specs from third in specs select $"{one}, {other}, {third}", sizesMax: 4);
    }

    [Fact]
    public void Sets_of_many_ranges_agree_with_the_reference() => Cases.Run(40_000, random =>
    {
        int size = random.Next(13);
        int numbersMax = random.Next(1, 15);
        int count = random.Next(1, 8);
        string set = string.Join(random.Pick(",", ", ", " ,"), Enumerable.Range(0, count).Select(_ => Spec(random, numbersMax)));
        AreSame($"{random.Pick("bytes", "Bytes", "bytes", "bytes", "items")}={set}", size);
    });

    [Fact]
    public void Sets_of_ranges_that_are_near_or_far_agree_with_the_reference() => Cases.Run(3_000, random =>
    {
        int size = random.Next(1, 600);
        IEnumerable<string> specs = Enumerable.Range(0, random.Next(1, 9)).Select(_ =>
        {
            int first = random.Next(620);
            return $"{first}-{first + random.Next(random.Pick(1, 30, 200))}";
        });
        AreSame("bytes=" + string.Join(',', specs), size);
    });

    [Fact]
    public void Sets_of_many_single_bytes_agree_with_the_reference() => Cases.Run(2_000, random =>
    {
        int size = random.Next(1, 100);
        int[] positions = [.. Enumerable.Range(0, size)];
        random.Shuffle(positions);
        AreSame("bytes=" + string.Join(',', positions.Take(random.Next(1, 70)).Select(at => $"{at}-{at}")), size);
    });

    private static void Compare(IEnumerable<string> sets, int sizesMax)
    {
        var seen = new HashSet<string>();
        foreach (string set in sets)
        {
            for (int size = 0; size <= sizesMax; size++)
            {
                seen.Add(AreSame($"bytes={set}", size));
            }
        }

        Assert.Superset(new HashSet<string> { "whole", "416", "0-0" }, seen);
    }

    private static string AreSame(string range, int size)
    {
        string expected = ReferenceRanges.Select(range, size);
        string selected = Selection.Of(range, size);
        Assert.True(expected == selected, $"{range} of {size} bytes is {expected}, not {selected}");
        return selected;
    }

    /// <summary>All specs with numbers below a bound, the reversed ones too.</summary>
    private static IEnumerable<string> Specs(int bound)
    {
        int[] numbers = [.. Enumerable.Range(0, bound)];
        return numbers.SelectMany(first => numbers.Select(last => $"{first}-{last}").Append($"{first}-").Append($"-{first}"));
    }

    private static string Spec(Random random, int numbersMax)
    {
        string first = random.Next(numbersMax).ToString((IFormatProvider?)null);
        string last = random.Next(numbersMax).ToString((IFormatProvider?)null);
        return random.Next(30) switch
        {
            0 => random.Pick("", "x", "-", "1", "--1", "1-2-3"),
            1 => $"{first}-{last}",
            4 => $"{random.Pick("", "0", "00")}{first}-{random.Pick("", "0", "000")}{last}",
            2 => $"18446744073709551616-{random.Pick("", "18446744073709551617", "18446744073709551615")}",
            3 => "9223372036854775807-9223372036854775808",
            < 8 => $"-{first}",
            < 14 => $"{first}-",
            < 20 => $"{first}-99999999999999999999",
            _ => $"{first}-{first}",
        };
    }
}
