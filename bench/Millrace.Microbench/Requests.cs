using System.Text;

namespace Millrace.Microbench;

/// <summary>Heads of requests.</summary>
internal static class Requests
{
    public static byte[] Minimal { get; } = "GET /index.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"u8.ToArray();

    /// <summary>Chromium's fields for a page.</summary>
    public static byte[] Browser { get; } = Encoding.ASCII.GetBytes(
        """
        GET /articles/2024/a-mill-by-the-river.html?from=feed HTTP/1.1
        Host: www.example.org
        Connection: keep-alive
        Cache-Control: max-age=0
        sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"
        sec-ch-ua-mobile: ?0
        sec-ch-ua-platform: "Linux"
        Upgrade-Insecure-Requests: 1
        User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36
        Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8
        Sec-Fetch-Site: none
        Sec-Fetch-Mode: navigate
        Sec-Fetch-User: ?1
        Sec-Fetch-Dest: document
        Accept-Encoding: gzip, deflate, br, zstd
        Accept-Language: en-GB,en;q=0.9


        """.ReplaceLineEndings("\r\n"));

    public static byte[] Broken { get; } = "GET / HTTP/1.1\r\nHost: a\r\nBroken\u0001: b\r\n\r\n"u8.ToArray();
}
