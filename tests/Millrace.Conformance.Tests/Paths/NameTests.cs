using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Paths;

public class NameTests
{
    private const string Section = "RFC 3986 2.1";

    [Theory]
    [Behaviour(Section, 12, "A name with a space is served.")]
    public Task A_space_is_served(Site site) => IsServedAsync(site, Names.Space);

    [Theory]
    [Behaviour(Section, 12, "A name with a percent sign is served, and decoded once: %2541.txt is the file called %41.txt.")]
    public async Task A_percent_sign_is_served(Site site)
    {
        await IsServedAsync(site, Names.Percent);
        (await site.GetAsync("/names/%2541.txt")).IsWhole(Names.ContentOf(Names.PercentEscape));
        (await site.GetAsync("/names/%41.txt")).Is(404);
    }

    [Theory]
    [Behaviour("RFC 3986 2.2", 12, "A name with a question mark is served by %3F, and is no query.")]
    public Task A_question_mark_is_served(Site site) => IsServedAsync(site, Names.Question);

    [Theory]
    [Behaviour("RFC 3986 2.2", 12, "A name with a # is served by %23.")]
    public Task A_hash_is_served(Site site) => IsServedAsync(site, Names.Hash);

    [Theory]
    [Behaviour("RFC 3986 2.2", 12, "A plus sign is a plus sign, escaped or not, and no space.")]
    public async Task A_plus_is_a_plus(Site site)
    {
        await IsServedAsync(site, Names.Plus);
        (await site.GetAsync("/names/one+one.txt")).IsWhole(Names.ContentOf(Names.Plus));
        (await site.GetAsync("/names/with+space.txt")).Is(404);
    }

    [Theory]
    [Behaviour("RFC 3986 3.3", 12, "A semicolon is a part of the name, escaped or not.")]
    public async Task A_semicolon_is_a_part_of_the_name(Site site)
    {
        await IsServedAsync(site, Names.Semicolon);
        (await site.GetAsync("/names/semi;colon.txt")).IsWhole(Names.ContentOf(Names.Semicolon));
        (await site.GetAsync("/one.txt;v=1")).Is(404);
    }

    [Theory]
    [Behaviour("RFC 3986 3.3", 12, "An ampersand is a part of the name, escaped or not.")]
    public async Task An_ampersand_is_a_part_of_the_name(Site site)
    {
        await IsServedAsync(site, Names.Ampersand);
        (await site.GetAsync("/names/this&that.txt")).IsWhole(Names.ContentOf(Names.Ampersand));
    }

    [Theory]
    [Behaviour("RFC 3986 2.5", 12, "Names beyond ASCII are served by their bytes in UTF-8.")]
    public async Task Names_beyond_ascii_are_served(Site site)
    {
        await IsServedAsync(site, Names.Umlaut);
        await IsServedAsync(site, Names.Japanese);
        await IsServedAsync(site, Names.Emoji);
    }

    [Theory]
    [Behaviour(Section, 12, "Names with quotes, angle brackets and other characters that a target cannot hold are served.")]
    public async Task Quotes_and_brackets_are_served(Site site)
    {
        await IsServedAsync(site, Names.Quote);
        await IsServedAsync(site, Names.Angle);
    }

    [Theory]
    [Behaviour(Section, 12, "A backslash is a part of a name, and no slash.")]
    public async Task A_backslash_is_a_part_of_the_name(Site site)
    {
        await IsServedAsync(site, Names.Backslash);
        (await site.GetAsync("/dir%5cfile.txt")).Is(404);
    }

    [Theory]
    [Behaviour("RFC 3986 3.3", 12, "Colons and punctuation are parts of names, escaped or not.")]
    public async Task Punctuation_is_a_part_of_the_name(Site site)
    {
        await IsServedAsync(site, Names.Colon);
        await IsServedAsync(site, Names.Punctuation);
        (await site.GetAsync("/names/a:b.txt")).IsWhole(Names.ContentOf(Names.Colon));
        (await site.GetAsync("/names/(~!$*,@=)_-.txt")).IsWhole(Names.ContentOf(Names.Punctuation));
    }

    [Theory]
    [Behaviour("RFC 3986 5.2.4", 12, "Two dots within a name are a part of it.")]
    public Task Two_dots_in_a_name_are_served(Site site) => IsServedAsync(site, Names.Dots);

    [Theory]
    [Behaviour("RFC 3986 6.2.2.1", 12, "The digits of an escape are case-insensitive.")]
    public async Task Escapes_have_no_case(Site site)
    {
        (await site.GetAsync("/names/na%C3%AFve-%C3%BCber.txt")).IsWhole(Names.ContentOf(Names.Umlaut));
        (await site.GetAsync("/names/na%c3%afve-%c3%bcber.txt")).IsWhole(Names.ContentOf(Names.Umlaut));
    }

    [Theory]
    [Behaviour("RFC 3986 6.2.2.2", 12, "A character that needs no escape means the same with one.")]
    public Task A_needless_escape_changes_nothing(Site site) => Expect.EachAsync(
        ["/%6fne.txt", "/one%2Etxt", "/%6F%6E%65%2E%74%78%74"],
        async target => (await site.GetAsync(target)).IsWhole(Site.Files["/one.txt"]));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 12, "A malformed escape is answered with 400.")]
    public Task A_malformed_escape_is_400(Site site) => Expect.EachAsync(
        ["/%", "/%z", "/%zz", "/%1", "/one.txt%", "/100%.txt", "/%g0", "/%0g", "/%u0041", "/% 20"],
        async target => (await site.GetAsync(target)).Is(400));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 12, "A NUL in a path is answered with 400.")]
    public Task A_nul_is_400(Site site) => Expect.EachAsync(
        ["/%00", "/one.txt%00", "/%00one.txt", "/dir/%00/"],
        async target => (await site.GetAsync(target)).Is(400));

    [Theory]
    [Behaviour(Section, 12, "A NUL does not end a name: one.txt%00.html is not one.txt.")]
    public async Task A_nul_ends_no_name(Site site) => (await site.GetAsync("/one.txt%00.html")).Is(400, 404);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 12, "An escaped slash is not a separator: 404.")]
    public Task An_escaped_slash_separates_nothing(Site site) => Expect.EachAsync(
        ["/dir%2ffile.txt", "/dir%2Ffile.txt", "/dir%2f"],
        async target => (await site.GetAsync(target)).Is(404));

    [Theory]
    [Behaviour("RFC 3986 2.5", 12, "Bytes that are not UTF-8 are an ordinary name, which does not exist.")]
    public Task Bytes_that_are_no_utf_8_are_not_found(Site site) => Expect.EachAsync(
        ["/%ff", "/%80%80", "/%c3", "/%ed%a0%80", "/%f8%88%80%80%80.txt"],
        async target => (await site.GetAsync(target)).Is(404, 400));

    [Theory]
    [Behaviour("RFC 9110 4.2.3", 13, "Names are case-sensitive.")]
    public Task Names_have_a_case(Site site) => Expect.EachAsync(
        ["/ONE.TXT", "/One.txt", "/DIR/file.txt", "/dir/File.txt"],
        async target => (await site.GetAsync(target)).Is(404));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 13, "Nothing is trimmed off a name: one.txt., one.txt%20 and one.txt/ are not one.txt.")]
    public Task Nothing_is_trimmed_off_a_name(Site site) => Expect.EachAsync(
        ["/one.txt.", "/one.txt%20", "/one.txt/", "/one.txt/index.html", "/one.txt//", "/one.txt/.", "/one.txt::$DATA", "/%20one.txt"],
        async target => (await site.GetAsync(target)).Is(404, 400));

    [Theory]
    [Behaviour("RFC 3986 3.4", 12, "A query selects nothing: the file is served.")]
    public Task A_query_is_ignored(Site site) => Expect.EachAsync(
        ["/one.txt?", "/one.txt?v=1", "/one.txt?a=b&c=d", "/one.txt??", "/one.txt?/x/../y", "/one.txt?a=%2e%2e/", "/one.txt?%C3%BC"],
        async target => (await site.GetAsync(target)).IsWhole(Site.Files["/one.txt"]));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 9, "A name of 255 bytes is served; a longer one is not found.")]
    public async Task A_name_of_255_bytes_is_served(Site site)
    {
        await IsServedAsync(site, Names.Longest);
        (await site.GetAsync($"/names/{new string('n', 252)}.txt")).Is(404);
        (await site.GetAsync($"/{new string('n', 4000)}")).Is(404);
        (await site.GetAsync($"/{string.Join('/', Enumerable.Repeat("nnnnnnn", 500))}")).Is(404);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 9, "A file thirty directories down is served.")]
    public async Task A_deep_file_is_served(Site site) => (await site.GetAsync(Names.Deep)).IsWhole(Site.Files[Names.Deep]);

    private static async Task IsServedAsync(Site site, string name) =>
        (await site.GetAsync(Names.TargetOf(name))).IsWhole(Names.ContentOf(name));
}
