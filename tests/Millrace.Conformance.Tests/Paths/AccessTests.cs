using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Paths;

/// <summary>What lies in the folder and is nobody's business, or is no file.</summary>
public class AccessTests
{
    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 14, "Names that begin with a dot are not found, nor what lies below them.")]
    public Task Dotfiles_are_hidden(Site site) => Expect.EachAsync(
        ["/.hidden", "/.env", "/.git/config", "/.git/", "/.git", "/dir/.secret.txt", "/%2ehidden", "/%2Egit/config", "/./.hidden",
            "//.hidden"],
        async target => (await site.GetAsync(target)).Is(404, 400));

    [Theory]
    [Behaviour("RFC 8615 3", 14, "/.well-known/ is served.")]
    public async Task Well_known_is_served(Site site) =>
        (await site.GetAsync("/.well-known/security.txt")).IsWhole(Site.Files["/.well-known/security.txt"]);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 14, "A symlink that stays inside the root is served.")]
    public async Task A_symlink_inside_is_served(Site site)
    {
        (await site.GetAsync("/link.txt")).IsWhole(Site.Files["/text.txt"]);
        (await site.GetAsync("/dir/link-up.txt")).IsWhole(Site.Files["/text.txt"]);
        (await site.GetAsync("/link-dir/file.txt")).IsWhole(Site.Files["/dir/file.txt"]);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 14, "A symlink to its own directory leads there, also repeatedly.")]
    public async Task A_symlink_in_a_circle_is_served(Site site)
    {
        (await site.GetAsync("/circle/x/file.txt")).IsWhole(Site.Files["/circle/file.txt"]);
        (await site.GetAsync("/circle/x/x/file.txt")).IsWhole(Site.Files["/circle/file.txt"]);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 14, "A symlink out of the root is not found, as a file and as a directory.")]
    public Task A_symlink_outside_is_404(Site site) => Expect.EachAsync(
        ["/escape.txt", "/escape-absolute.txt", "/escape-dir/secret.txt", "/escape-dir/", "/escape-dir", "/escape-dir/index.html"],
        async target => (await site.GetAsync(target)).Is(403, 404));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 14, "An index page that is a symlink out of the root is not found.")]
    public async Task An_index_outside_is_404(Site site) => (await site.GetAsync("/escaping-index/")).Is(403, 404);

    [Theory]
    [Behaviour("RFC 9110 15.5.5", 14, "A symlink to nothing and one to itself are not found.")]
    public Task A_broken_symlink_is_404(Site site) => Expect.EachAsync(
        ["/broken.txt", "/loop.txt", "/loop.txt/x"],
        async target => (await site.GetAsync(target)).Is(403, 404));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 10, "A FIFO is not found, and no request waits for its writer.")]
    public async Task A_fifo_is_404(Site site)
    {
        (await site.GetAsync("/pipe.txt")).Is(403, 404);
        (await site.HeadAsync("/pipe.txt")).Is(403, 404);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 10, "Requests for a FIFO delay no other.")]
    public async Task A_fifo_holds_up_nobody(Site site)
    {
        List<Wire> wires = [];
        try
        {
            for (int reader = 0; reader < 20; reader++)
            {
                Wire wire = await site.ConnectAsync();
                wires.Add(wire);
                await wire.SendAsync(Site.Request("GET", "/pipe.txt"));
            }

            (await site.GetAsync("/300k.bin")).IsWhole(Site.Files["/300k.bin"]);
        }
        finally
        {
            wires.ForEach(static wire => wire.Dispose());
        }
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 10, "A unix socket is not found.")]
    public async Task A_socket_is_404(Site site) => (await site.GetAsync("/socket.txt")).Is(403, 404);

    [Theory]
    [Behaviour("RFC 9110 15.5.4", 11, "A file that the server may not read is refused or not found.")]
    public async Task An_unreadable_file_is_refused(Site site) => (await site.GetAsync("/unreadable.txt")).Is(403, 404);

    [Theory]
    [Behaviour("RFC 9110 15.5.5", 14, "HEAD finds no more than GET does.")]
    public Task Head_finds_no_more(Site site) => Expect.EachAsync(
        ["/.hidden", "/escape.txt", "/unreadable.txt", "/socket.txt", "/no-index/"],
        async target => Expect.Equal((await site.GetAsync(target)).Status, (await site.HeadAsync(target)).Status, "HEAD"));

    [Theory]
    [Behaviour("RFC 9110 15.5.5", 11, "What does not exist is answered with 404 and the site's error page.")]
    public async Task An_error_page_keeps_its_status(Site site)
    {
        Response response = (await site.GetAsync("/missing.txt")).Is(404).Has("Content-Length");
        Expect.Bytes(Site.Files["/404.html"], response.Body);
        response.HasType("text/html");
    }

    [Theory]
    [Behaviour("RFC 9110 13.2.1", 16, "An error page is not subject to conditions.")]
    public Task An_error_page_ignores_conditions(Site site) => Expect.EachAsync(
        ["If-None-Match: *", "If-Match: \"x\"", $"If-Modified-Since: {DateTime.UtcNow:R}",
            "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"],
        async field => (await site.GetAsync("/missing.txt", field)).Is(404));

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 11, "The error page, requested by its own name, is a file like others.")]
    public async Task The_error_page_is_a_file(Site site) => (await site.GetAsync("/404.html")).IsWhole(Site.Files["/404.html"]);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 11, "No response reveals where the root is.")]
    public Task No_response_reveals_the_root(Site site) => Expect.EachAsync(
        ["/missing.txt", "/%zz", "/..", "/no-index/", "/unreadable.txt", "/dir"],
        async target =>
        {
            Response response = await site.GetAsync(target);
            string all = response.Text + string.Concat(response.Fields.Select(static field => field.Value));
            bool isReported = all.Contains(Path.GetDirectoryName(Site.Files.Root)!, StringComparison.Ordinal);
            Expect.That(!isReported, $"{response.Status} with the root's path");
        });

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 11, "Missing files cost little: 500 in a row are answered with 404.")]
    public async Task Missing_files_cost_little(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        for (int number = 0; number < 500; number++)
        {
            (await wire.GetAsync($"/missing-{number}.txt")).Is(404);
        }
    }
}
