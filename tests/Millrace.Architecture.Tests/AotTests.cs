using System.Reflection;
using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

/// <summary>What is promised to those who compile ahead of time: libraries that the analyzers have seen, and no shape that compiler fails on.</summary>
public class AotTests
{
    public static TheoryData<string> Libraries => [.. Rooms.All.Where(static room => room.IsLibrary).Select(static room => room.Name)];

    /// <summary>The mark is written where IsAotCompatible is set, which turns the analyzers on, whose warnings are errors.</summary>
    [Theory]
    [MemberData(nameof(Libraries))]
    public void A_library_is_marked_as_compatible_and_so_analyzed(string library)
    {
        AssemblyMetadataAttribute? mark = Rooms.All.Single(room => room.Name == library).Load()
            .GetCustomAttributes<AssemblyMetadataAttribute>().SingleOrDefault(static each => each.Key == "IsAotCompatible");

        Assert.Equal("True", mark?.Value, ignoreCase: true);
    }

    [Fact]
    public void No_record_prints_a_pointer()
    {
        Type[] types = [.. Rooms.All.SelectMany(static room => room.Load().GetTypes())];

        Assert.InRange(types.Count(AotRules.IsRecord), 50, int.MaxValue);
        Finding.AssertNone(types.SelectMany(AotRules.PrintedPointers));
    }

    [Fact]
    public void A_record_that_prints_a_pointer_is_found()
    {
        Assert.Single(AotRules.PrintedPointers(typeof(PointerSample)));
        Assert.Single(AotRules.PrintedPointers(typeof(FunctionSample)));
        Assert.Single(AotRules.PrintedPointers(typeof(HeirSample)));
        Assert.Empty(AotRules.PrintedPointers(typeof(HiddenSample)));
        Assert.Empty(AotRules.PrintedPointers(typeof(PlainSample)));
    }

    private readonly unsafe record struct PointerSample(nint Start)
    {
        public byte* Address => (byte*)Start;
    }

    private unsafe record FunctionSample(nint Start)
    {
        public delegate*<int, void> Function => (delegate*<int, void>)Start;
    }

    private sealed unsafe record HeirSample(nint Start) : FunctionSample(Start);

    /// <summary>Only what is public is printed.</summary>
    private readonly unsafe record struct HiddenSample(nint Start)
    {
        internal byte* Address => (byte*)Start;
    }

    private readonly unsafe struct PlainSample(nint start)
    {
        public byte* Address => (byte*)start;
    }
}
