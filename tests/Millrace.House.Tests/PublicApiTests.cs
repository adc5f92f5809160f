using Millrace.House.Tests.PublicApi;

namespace Millrace.House.Tests;

/// <summary>
/// The public surface of every library is a file that a change must change with it, so that no caller is broken unseen.
/// MILLRACE_ACCEPT_API=1 writes the files anew, except in CI.
/// </summary>
public class PublicApiTests
{
    private const string Folder = "tests/Millrace.House.Tests/PublicApi";

    public static TheoryData<string> Libraries => [.. Rooms.All.Where(room => room.IsLibrary).Select(room => room.Name)];

    [Theory]
    [MemberData(nameof(Libraries))]
    public void The_public_surface_is_the_approved_one(string library)
    {
        string path = $"{Folder}/{library}.txt";
        string fullPath = Path.Combine(Repository.Root, path);
        string actual = PublicSurface.Describe(Rooms.All.Single(room => room.Name == library).Load().GetExportedTypes());
        if (Environment.GetEnvironmentVariable("MILLRACE_ACCEPT_API") == "1" && Environment.GetEnvironmentVariable("CI") != "true")
        {
            File.WriteAllText(fullPath, actual);
        }

        string approved = File.Exists(fullPath) ? File.ReadAllText(fullPath) : "";

        Assert.True(
            File.Exists(fullPath) && approved == actual,
            $"The public surface of {library} is not what {path} approves.\n{Difference(approved, actual)}\n"
            + "If this change is meant, accept it with MILLRACE_ACCEPT_API=1 ./test House and commit the file.");
    }

    [Fact]
    public void Every_approved_surface_belongs_to_a_library()
    {
        string[] approved = [.. Repository.Files.Select(file => file.Path)
            .Where(path => path.StartsWith(Folder, StringComparison.Ordinal) && path.EndsWith(".txt", StringComparison.Ordinal))
            .Select(path => Path.GetFileNameWithoutExtension(path)!)];

        Assert.Equal(Rooms.All.Where(room => room.IsLibrary).Select(room => room.Name).Order(StringComparer.Ordinal), approved);
    }

    [Fact]
    public void A_surface_shows_what_callers_can_see()
    {
        string expected =
            """
            abstract class Millrace.House.Tests.PublicApi.SurfaceSample<T> : MarshalByRefObject, IProgress<T> where T : class, new()
                abstract ValueTask<string?> ReadAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation = default)
                const int Limit = 8
                event EventHandler<EventArgs>? Closed
                int Count { get; protected set; }
                int Sum(params int[] numbers)
                override string? ToString()
                protected SurfaceSample<T>(string? name = "a")
                protected virtual void Close(ref int left, out T? last)
                required Dictionary<string, string?> Names { get; init; }
                void Report(T value)
            enum Millrace.House.Tests.PublicApi.SurfaceSample<T>.Kind : byte
                First = 0

            """;

        Assert.Equal(expected, PublicSurface.Describe([typeof(SurfaceSample<>), typeof(SurfaceSample<>.Kind), typeof(Rooms)]));
    }

    [Fact]
    public void A_change_of_the_surface_is_shown_line_by_line() =>
        Assert.Equal("- b\n+ d", Difference("a\nb\nc\n", "a\nc\nd\n"));

    private static string Difference(string approved, string actual)
    {
        string[] before = approved.Split('\n');
        string[] after = actual.Split('\n');
        return string.Join('\n', before.Except(after).Select(line => $"- {line}").Concat(after.Except(before).Select(line => $"+ {line}")));
    }
}
