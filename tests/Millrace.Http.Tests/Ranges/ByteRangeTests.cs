namespace Millrace.Http.Tests;

/// <summary>RFC 9110 sections 14.1, 14.2, 15.3.7 and 17.15.</summary>
public class ByteRangeTests
{
    // The examples of section 14.1.2 and their edges, for 10,000 bytes.
    [Theory]
    [InlineData("bytes=0-499", "0-499")]
    [InlineData("bytes=500-999", "500-999")]
    [InlineData("bytes=-500", "9500-9999")]
    [InlineData("bytes=9500-", "9500-9999")]
    [InlineData("bytes=0-0", "0-0")]
    [InlineData("bytes=9999-9999", "9999-9999")]
    [InlineData("bytes=9999-", "9999-9999")]
    [InlineData("bytes=0-", "0-9999")]
    [InlineData("bytes=-1", "9999-9999")]
    [InlineData("bytes=-10000", "0-9999")]
    [InlineData("bytes=0-9999", "0-9999")]
    [InlineData("bytes=0-10000", "0-9999")]
    [InlineData("bytes=9000-123456", "9000-9999")]
    [InlineData("bytes=-10001", "0-9999")]
    [InlineData("bytes=00000000000000000000000000007-0000000000000000000000008", "7-8")]
    public void One_range_is_cut_to_what_is_there(string range, string selected) => Assert.Equal(selected, Selection.Of(range, 10_000));

    [Theory]
    [InlineData("bytes=10000-")]
    [InlineData("bytes=10000-10000")]
    [InlineData("bytes=12345-23456")]
    [InlineData("bytes=-0")]
    [InlineData("bytes=-000")]
    [InlineData("bytes=10000-,-0, 10001-10002")]
    [InlineData("bytes=18446744073709551616-")]
    [InlineData("bytes=18446744073709551616-18446744073709551616")]
    public void A_set_of_which_nothing_is_there_cannot_be_satisfied(string range) => Assert.Equal("416", Selection.Of(range, 10_000));

    [Theory]
    [InlineData("bytes=0-99999999999999999999", "0-9999")]
    [InlineData("bytes=1-18446744073709551616", "1-9999")]
    [InlineData("bytes=1-9223372036854775807", "1-9999")]
    [InlineData("bytes=1-9223372036854775808", "1-9999")]
    [InlineData("bytes=-99999999999999999999", "0-9999")]
    [InlineData("bytes=-18446744073709551617", "0-9999")]
    [InlineData("bytes=18446744073709551617-,5-5", "5-5")]
    [InlineData("bytes=99999999999999999999-99999999999999999999,5-5", "5-5")]
    [InlineData("bytes=099999999999999999998-99999999999999999999,5-5", "5-5")]
    [InlineData("bytes=99999999999999999999-99999999999999999998,5-5", "whole")]
    [InlineData("bytes=99999999999999999999-9999,5-5", "whole")]
    public void Numbers_of_any_length_keep_their_value(string range, string selected)
        => Assert.Equal(selected, Selection.Of(range, 10_000));

    [Theory]
    [InlineData("bytes=5368709120-5368709124", 6_000_000_000, "5368709120-5368709124")]
    [InlineData("bytes=-5", 6_000_000_000, "5999999995-5999999999")]
    [InlineData("bytes=0-0,-1", long.MaxValue, "0-0 9223372036854775806-9223372036854775806")]
    [InlineData("bytes=9223372036854775806-", long.MaxValue, "9223372036854775806-9223372036854775806")]
    [InlineData("bytes=9223372036854775807-", long.MaxValue, "416")]
    [InlineData("bytes=0-,0-,0-", long.MaxValue, "whole")]
    [InlineData("bytes=0-", 1, "0-0")]
    public void Sizes_have_64_bits(string range, long size, string selected) => Assert.Equal(selected, Selection.Of(range, size));

    [Theory]
    [InlineData("bytes=0-0")]
    [InlineData("BYTES=0-0")]
    [InlineData("Bytes=0-0")]
    public void A_unit_is_case_insensitive(string range) => Assert.Equal("0-0", Selection.Of(range, 10));

    [Theory]
    [InlineData("")]
    [InlineData("items=0-8")]
    [InlineData("byte=0-0")]
    [InlineData("bytess=0-0")]
    [InlineData("bytes")]
    [InlineData("bytes0-0")]
    [InlineData("bytes 0-0")]
    [InlineData("bytes =0-0")]
    [InlineData("bytes:0-0")]
    [InlineData("=0-0")]
    [InlineData("0-0")]
    [InlineData("items=0-0, bytes=0-0")]
    public void A_range_of_another_unit_is_ignored(string range) => Assert.Equal("whole", Selection.Of(range, 10));

    [Theory]
    [InlineData("bytes=")]
    [InlineData("bytes=,")]
    [InlineData("bytes= \t, ,")]
    [InlineData("bytes=-")]
    [InlineData("bytes=--")]
    [InlineData("bytes=--1")]
    [InlineData("bytes=1--2")]
    [InlineData("bytes=1-2-3")]
    [InlineData("bytes=1")]
    [InlineData("bytes=x")]
    [InlineData("bytes=1-x")]
    [InlineData("bytes=x-1")]
    [InlineData("bytes=+1-2")]
    [InlineData("bytes=1-+2")]
    [InlineData("bytes=0x1-2")]
    [InlineData("bytes=1 - 2")]
    [InlineData("bytes=1- 2")]
    [InlineData("bytes=1 2-3")]
    [InlineData("bytes=- 1")]
    [InlineData("bytes=4-2")]
    [InlineData("bytes=1-0")]
    [InlineData("bytes=4-002")]
    [InlineData("bytes=1;2-3")]
    [InlineData("bytes==1-2")]
    [InlineData("bytes=x,y,4-2")]
    public void A_set_without_a_valid_range_is_ignored(string range) => Assert.Equal("whole", Selection.Of(range, 10));

    [Theory]
    [InlineData("bytes=0-0,x")]
    [InlineData("bytes=x,0-0")]
    [InlineData("bytes=0-0,4-2")]
    [InlineData("bytes=4-2,0-0")]
    [InlineData("bytes=0-0,-")]
    [InlineData("bytes=99-,x")]
    [InlineData("bytes=0-0, bytes=1-1")]
    public void An_invalid_range_among_valid_ones_has_the_field_ignored(string range) => Assert.Equal("whole", Selection.Of(range, 10));

    [Theory]
    [InlineData("bytes=0-0 \t,\t 200-200 ,400-400", "0-0 200-200 400-400")]
    [InlineData("bytes=,,0-0,, ,200-200,", "0-0 200-200")]
    [InlineData("bytes= 0-0", "0-0")]
    public void Whitespace_around_commas_and_empty_elements_are_nothing(string range, string selected)
        => Assert.Equal(selected, Selection.Of(range, 1000));

    [Theory]
    [InlineData("bytes=0-")]
    [InlineData("bytes=-1")]
    [InlineData("bytes=0-0")]
    [InlineData("bytes=5-")]
    [InlineData("bytes=x")]
    public void A_representation_of_no_bytes_is_sent_whole(string range) => Assert.Equal("whole", Selection.Of(range, 0));

    [Theory]
    [InlineData("bytes=0-0,200-200", "0-0 200-200")]
    [InlineData("bytes=800-900,0-100", "800-900 0-100")]
    [InlineData("bytes=9900-,0-0,-0,200-200", "0-0 200-200")]
    [InlineData("bytes=-1,0-0", "999-999 0-0")]
    public void Several_ranges_keep_their_order_without_those_that_are_not_there(string range, string selected)
        => Assert.Equal(selected, Selection.Of(range, 1000));

    [Theory]
    [InlineData("bytes=0-199,200-399", "0-399")]
    [InlineData("bytes=200-399,0-199", "0-399")]
    [InlineData("bytes=0-399,200-599", "0-599")]
    [InlineData("bytes=0-599,100-299", "0-599")]
    [InlineData("bytes=100-299,0-599", "0-599")]
    [InlineData("bytes=0-499,500-999", "0-999")]
    [InlineData("bytes=500-500,500-500", "500-500")]
    [InlineData("bytes=0-0,400-400,1-399", "0-400")]
    [InlineData("bytes=800-800,0-0,400-400,1-399", "800-800 0-400")]
    [InlineData("bytes=0-0,800-800,200-200,600-799,400-400", "0-0 600-800 200-200 400-400")]
    public void Ranges_that_overlap_or_adjoin_become_one_in_the_place_of_the_first(string range, string selected)
        => Assert.Equal(selected, Selection.Of(range, 1000));

    // Section 15.3.7.2: a gap that is smaller than the overhead of another part, which is about 80 bytes.
    [Theory]
    [InlineData("bytes=0-0,2-2", "0-2")]
    [InlineData("bytes=0-9,89-99", "0-99")]
    [InlineData("bytes=0-9,90-99", "0-9 90-99")]
    [InlineData("bytes=89-99,0-9", "0-99")]
    [InlineData("bytes=90-99,0-9", "90-99 0-9")]
    [InlineData("bytes=800-809,0-9,400-409,89-99", "800-809 0-99 400-409")]
    [InlineData("bytes=0-9,160-169,85-89", "0-169")]
    [InlineData("bytes=0-0,20-20,40-40,60-60,80-80", "0-80")]
    public void Ranges_a_few_bytes_apart_become_one_with_what_is_between(string range, string selected)
        => Assert.Equal(selected, Selection.Of(range, 1000));

    [Theory]
    [InlineData("bytes=0-,0-")]
    [InlineData("bytes=0-5,5-9")]
    [InlineData("bytes=0-5,0-4")]
    [InlineData("bytes=-10,0-0")]
    [InlineData("bytes=0-99,0-0")]
    public void Ranges_of_more_bytes_than_there_are_get_the_whole(string range) => Assert.Equal("whole", Selection.Of(range, 10));

    [Fact]
    public void Ranges_of_as_many_bytes_as_there_are_get_their_ranges() => Assert.Equal("0-5", Selection.Of("bytes=0-5,2-5", 10));

    // zchunk asks for up to 255 ranges at once.
    [Theory]
    [InlineData(64)]
    [InlineData(65)]
    [InlineData(127)]
    [InlineData(255)]
    [InlineData(256)]
    public void Hundreds_of_parts_are_served_where_they_do_not_overlap(int count)
        => Assert.Equal(Apart(count, ' '), Selection.Of("bytes=" + Apart(count, ','), 10_000_000));

    [Fact]
    public void More_specs_than_the_most_get_the_whole()
        => Assert.Equal("whole", Selection.Of("bytes=" + Apart(ByteRanges.SpecsMax + 1, ','), 10_000_000));

    [Fact]
    public void Many_parts_that_overlap_get_the_whole()
    {
        Assert.Equal("whole", Selection.Of($"bytes={Apart(65, ',')},0-0", 10_000_000));
        Assert.Equal("whole", Selection.Of($"bytes=5-5,{Apart(65, ',')}", 10_000_000));
        Assert.Equal(Apart(64, ' '), Selection.Of($"bytes={Apart(64, ',')},0-0", 10_000_000));
    }

    // Section 17.15: parts are so far apart that their heads cost no more than what is between them.
    [Fact]
    public void As_many_parts_as_there_can_be_cost_no_more_than_the_whole()
    {
        foreach (int step in (int[])[1, 40, 80, 81, 82, 90, 200])
        {
            int size = 256 * step;
            string set = string.Join(',', Enumerable.Range(0, 256).Select(at => $"{at * step}-{at * step}"));
            string[] parts = Selection.Of("bytes=" + set, size).Split(' ');
            long cost = parts.Sum(static part => part.Split('-') is var ends ? 81 + long.Parse(ends[1], null) - long.Parse(ends[0], null) : 0);
            Assert.InRange(cost, 1, size + 80);
            Assert.Equal(step > 80 ? 256 : 1, parts.Length);
        }
    }

    [Fact]
    public void Parts_are_counted_once_they_are_coalesced()
    {
        IEnumerable<int> evenThenOdd = Enumerable.Range(0, 200).OrderBy(at => at % 2);
        Assert.Equal("0-199", Selection.Of("bytes=" + string.Join(',', evenThenOdd.Select(at => $"{at}-{at}")), 10_000));
    }

    [Theory]
    [InlineData("0-0", "0-0")]
    [InlineData("99999-", "416")]
    [InlineData("", "whole")]
    [InlineData("x", "whole")]
    public void A_flood_of_ranges_gets_the_whole_whatever_they_are(string spec, string selected)
    {
        string most = string.Join(',', Enumerable.Repeat(spec, ByteRanges.SpecsMax));
        Assert.Equal(selected, Selection.Of("bytes=" + most, 10_000));
        Assert.Equal("whole", Selection.Of($"bytes={most},{spec}", 10_000));
    }

    /// <summary>Ranges of ten bytes, too far apart to be one.</summary>
    private static string Apart(int count, char separator)
        => string.Join(separator, Enumerable.Range(0, count).Select(at => $"{at * 1000}-{(at * 1000) + 9}"));
}
